//! Times bellperson's CPU prover on the PoRep input and key that `cuzk bench prove` gets, and prints
//! rows of the same form. Every proof is verified. See README.md for what is timed.

use std::fs;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context, Result};
use bellperson::groth16::{
    create_random_proof_batch, prepare_verifying_key, verify_proof, MappedParameters, Parameters,
    PreparedVerifyingKey, Proof,
};
use bellperson::util_cs::bench_cs::BenchCS;
use bellperson::{Circuit, ConstraintSystem, SynthesisError};
use blstrs::{Bls12, Scalar};
use filecoin_proofs::{
    as_safe_commitment, parameters::setup_params, DefaultPieceHasher, PoRepConfig,
    SealCommitPhase1Output, SectorShape2KiB, SectorShape32GiB, SectorShape64GiB,
};
use rand::rngs::OsRng;
use serde_json::{json, Value};
use storage_proofs_core::api_version::ApiVersion;
use storage_proofs_core::compound_proof::{self, CompoundProof};
use storage_proofs_core::merkle::MerkleTreeTrait;
use storage_proofs_porep::stacked::{self, StackedCompound, StackedDrg};

const USAGE: &str =
    "usage: cuzk-peers --c1 FILE --params FILE [--samples N] [--threads N] [--out PROOF]";

struct Args {
    c1: PathBuf,
    params: PathBuf,
    out: Option<PathBuf>,
    samples: usize,
    threads: Option<usize>,
}

fn parse_args() -> Result<Args> {
    let (mut c1, mut params, mut out, mut samples, mut threads) = (None, None, None, 5, None);
    let mut it = std::env::args().skip(1);
    while let Some(name) = it.next() {
        let value = it.next().with_context(|| format!("{name}: value missing; {USAGE}"))?;
        match name.as_str() {
            "--c1" => c1 = Some(PathBuf::from(value)),
            "--params" => params = Some(PathBuf::from(value)),
            "--out" => out = Some(PathBuf::from(value)),
            "--samples" => samples = value.parse().context("--samples")?,
            "--threads" => threads = Some(value.parse().context("--threads")?),
            _ => bail!("{name}: unknown option; {USAGE}"),
        }
    }
    ensure!(samples > 0 && threads != Some(0), "--samples and --threads start at 1");
    Ok(Args { c1: c1.context(USAGE)?, params: params.context(USAGE)?, out, samples, threads })
}

/// A registered PoRep without features: the sizes and versions whose circuits cuzk has too.
struct Registered {
    sector_bytes: u64,
    number: u64,
    api_version: ApiVersion,
}

fn registered(name: &str) -> Result<Registered> {
    let rest = name.strip_prefix("StackedDrg").with_context(|| format!("{name}: not a PoRep"))?;
    let (size, version) = rest.split_once('V').with_context(|| format!("{name}: no version"))?;
    let (sector_bytes, index) = match size {
        "2KiB" => (1 << 11, 0),
        "8MiB" => (1 << 23, 1),
        "512MiB" => (1 << 29, 2),
        "32GiB" => (1 << 35, 3),
        "64GiB" => (1 << 36, 4),
        _ => bail!("{name}: no registered proof of this size"),
    };
    match version {
        "1" => Ok(Registered { sector_bytes, number: index, api_version: ApiVersion::V1_0_0 }),
        "1_1" => {
            Ok(Registered { sector_bytes, number: index + 5, api_version: ApiVersion::V1_1_0 })
        }
        _ => bail!("{name}: only V1 and V1_1 are handled"),
    }
}

/// The circuit, and when its synthesis began and ended: the only way to see the two phases apart
/// without changing the prover.
struct Timed<C> {
    circuit: C,
    synthesis: Arc<Mutex<Duration>>,
}

impl<C: Circuit<Scalar>> Circuit<Scalar> for Timed<C> {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let start = Instant::now();
        let done = self.circuit.synthesize(cs);
        *self.synthesis.lock().unwrap() = start.elapsed();
        done
    }
}

#[derive(Default)]
struct Samples {
    witness_ms: Vec<f64>,
    groth16_ms: Vec<f64>,
    total_ms: Vec<f64>,
}

impl Samples {
    fn add(&mut self, synthesis: Duration, total: Duration) {
        let ms = |d: Duration| d.as_secs_f64() * 1e3;
        self.witness_ms.push(ms(synthesis));
        self.groth16_ms.push(ms(total.saturating_sub(synthesis)));
        self.total_ms.push(ms(total));
    }
}

/// As `cuzk bench` prints a row: samples in the order measured, the median the upper one of two.
fn row(name: &str, n: usize, samples: &[f64]) -> Value {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    json!({"name": name, "n": n, "unit": "ms", "min": sorted[0], "median": sorted[sorted.len() / 2],
           "max": sorted[sorted.len() - 1], "samples": samples})
}

fn count_rows<C: Circuit<Scalar>>(circuit: C) -> Result<usize> {
    let mut cs = BenchCS::<Scalar>::new();
    circuit.synthesize(&mut cs)?;
    Ok(cs.num_constraints())
}

fn prove_once<C: Circuit<Scalar> + Send>(
    circuit: C,
    params: &MappedParameters<Bls12>,
    samples: &mut Samples,
) -> Result<Proof<Bls12>> {
    let synthesis = Arc::new(Mutex::new(Duration::ZERO));
    let timed = Timed { circuit, synthesis: synthesis.clone() };
    let start = Instant::now();
    let mut proofs = create_random_proof_batch(vec![timed], params, &mut OsRng)?;
    let total = start.elapsed();
    samples.add(*synthesis.lock().unwrap(), total);
    proofs.pop().context("the prover returned no proof")
}

/// Partition 0 of the C1 output: its circuit, proven and verified `args.samples` times.
fn measure<Tree: MerkleTreeTrait + 'static>(
    args: &Args,
    registered: &Registered,
    c1: Value,
) -> Result<(usize, Samples)> {
    let c1: SealCommitPhase1Output<Tree> = serde_json::from_value(c1).context("C1 output")?;
    let mut porep_id = [0; 32];
    porep_id[..8].copy_from_slice(&registered.number.to_le_bytes());
    let config =
        PoRepConfig::new_groth16(registered.sector_bytes, porep_id, registered.api_version);
    let setup = compound_proof::SetupParams {
        vanilla_params: setup_params(&config)?,
        partitions: Some(usize::from(config.partitions)),
        priority: false,
    };
    type Compound<Tree> = StackedCompound<Tree, DefaultPieceHasher>;
    let public_params = <Compound<Tree> as CompoundProof<
        StackedDrg<'_, Tree, DefaultPieceHasher>,
        _,
    >>::setup(&setup)?
    .vanilla_params;
    let public_inputs = stacked::PublicInputs {
        replica_id: c1.replica_id,
        tau: Some(stacked::Tau {
            comm_d: as_safe_commitment(&c1.comm_d, "comm_d")?,
            comm_r: as_safe_commitment(&c1.comm_r, "comm_r")?,
        }),
        k: None,
        seed: Some(c1.seed),
    };
    let vanilla = c1.vanilla_proofs.first().context("the C1 output has no partition")?;
    let circuit = || {
        Compound::<Tree>::circuit(
            &public_inputs,
            Default::default(),
            vanilla,
            &public_params,
            Some(0),
        )
    };
    let inputs = Compound::<Tree>::generate_public_inputs(&public_inputs, &public_params, Some(0))?;

    let n_rows = count_rows(circuit()?)?;
    let params = Parameters::build_mapped_parameters(args.params.clone(), false)
        .with_context(|| args.params.display().to_string())?;
    let pvk: PreparedVerifyingKey<Bls12> = prepare_verifying_key(&params.vk);
    let mut samples = Samples::default();
    for k in 0..args.samples {
        let proof = prove_once(circuit()?, &params, &mut samples)?;
        ensure!(verify_proof(&pvk, &proof, &inputs)?, "run {k}: the proof does not verify");
        if let Some(path) = &args.out {
            proof.write(BufWriter::new(fs::File::create(path)?))?;
        }
    }
    Ok((n_rows, samples))
}

/// The value after "KEY:" in a /proc file, empty where there is none.
fn proc_value(file: &str, key: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|l| l.starts_with(key)).unwrap_or_default();
    line.split_once(':').map_or("", |(_, value)| value).trim().to_string()
}

fn main() -> Result<()> {
    let args = parse_args()?;
    if let Some(n) = args.threads {
        // Read once, when the first pool starts: RAYON for synthesis and sums, EC_GPU for the FFTs.
        std::env::set_var("RAYON_NUM_THREADS", n.to_string());
        std::env::set_var("EC_GPU_NUM_THREADS", n.to_string());
    }
    let bytes = fs::read(&args.c1).with_context(|| args.c1.display().to_string())?;
    let mut c1: Value = serde_json::from_slice(&bytes).context("C1 output")?;
    let name = c1["registered_proof"].as_str().context("C1 output: registered_proof")?.to_string();
    let registered = registered(&name)?;
    // The API wraps the partitions in an enum by size; the crate below it does not.
    if let Some(by_size) = c1["vanilla_proofs"].as_object_mut() {
        let inner = by_size.values_mut().next().context("C1 output: vanilla_proofs")?.take();
        c1["vanilla_proofs"] = inner;
    }
    let (n, samples) = match registered.sector_bytes >> 30 {
        32 => measure::<SectorShape32GiB>(&args, &registered, c1)?,
        64 => measure::<SectorShape64GiB>(&args, &registered, c1)?,
        _ => measure::<SectorShape2KiB>(&args, &registered, c1)?,
    };
    let rss = proc_value("/proc/self/status", "VmHWM");
    let report = json!({
        "bench": "prove",
        "prover": "bellperson 0.27.0, blstrs 0.7.1, storage-proofs-porep 19.1.0",
        "device": "cpu",
        "cpu": proc_value("/proc/cpuinfo", "model name"),
        "registered_proof": name,
        "threads": args.threads,
        "peak_rss_kib": rss.trim_end_matches(" kB").parse::<u64>().ok(),
        "rows": [
            row("prove_witness", n, &samples.witness_ms),
            row("prove_groth16", n, &samples.groth16_ms),
            row("prove_total", n, &samples.total_ms),
        ],
    });
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}
