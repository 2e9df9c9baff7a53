"""--device, --dev-key and `cuzk devices`, with and without a GPU; on a machine with one, golden bytes through it."""
import json

import pytest
from conftest import GOLDEN, TOXIC, golden_bytes

FIXED = ["--test-r", "27134", "--test-s", "17146"]


@pytest.fixture(scope="module")
def gpus(cuzk):
    return [d for d in cuzk.json("devices")["devices"] if d["device"] != "cpu"]


@pytest.fixture
def winning(tmp_path):
    """Options of the golden WinningPoSt of a 2 KiB sector."""
    meta = json.loads((GOLDEN / "post/winning-2KiB.meta.json").read_text())
    sector = tmp_path / "sector0.vanilla.bin"
    sector.write_bytes(golden_bytes("post/winning-2KiB.sector0.vanilla.bin"))
    return ["--kind", "winning", "--sector-size", "2KiB", "--randomness", meta["randomness"], "--prover-id", meta["prover_id"], sector]


def test_devices_are_listed(cuzk, gpus):
    doc = cuzk.json("devices")
    assert doc["devices"][0]["device"] == "cpu" and doc["devices"][0]["cpus"] >= 1
    assert ("note" in doc) == ("cpu, cuda" not in cuzk("--version"))
    for d in gpus:
        assert d["uuid"].startswith("GPU-") and d["total_bytes"] >= d["free_bytes"] > 0
    assert cuzk("devices").startswith("cpu")


def test_a_named_device_is_never_replaced(cuzk, winning, gpus):
    for name in ("cuda:63", "cuda:GPU-ffffffff", "cuda:ffff:ff:1f.0"):
        cuzk("prove", *winning, "--device", name, "--dev-key", code=64 if "cpu, cuda" in cuzk("--version") else 2)
    if not gpus:
        cuzk("prove", *winning, "--device", "cuda", "--dev-key", code=64 if "cpu, cuda" in cuzk("--version") else 2)
        assert "cuda" in cuzk.err.lower()
    cuzk("prove", *winning, "--device", "gpu", "--dev-key", code=64)
    assert "--device: expected" in cuzk.err


def test_auto_says_what_it_took(cuzk, winning, gpus):
    got = cuzk.json("prove", *winning, "--device", "auto", "--dev-key", "--repeat", "2")
    assert got["device"] == (gpus[0]["device"] if gpus else "cpu")
    assert f"device: {got['device']} " in cuzk.err and "DEVELOPMENT key" in cuzk.err
    assert got["verified"] is True and got["development_key"] is True and len(got["runs_ms"]) == 2
    assert got["timings_ms"]["prove"] > 0 and got["peak_rss_bytes"] > 1 << 20


def test_development_keys_give_golden_proofs(cuzk, winning, gpus, golden_proofs, tmp_path):
    want = golden_proofs["winning-2KiB"]["partitions"][0]["proof"]
    for device in ["cpu", *[d["device"] for d in gpus], *["cuda:" + d["uuid"] for d in gpus]]:
        vk, proof, inputs = tmp_path / "dev.vk", tmp_path / "proof.bin", tmp_path / "inputs.json"
        out = cuzk("prove", *winning, "--device", device, "--dev-key", "--test-toxic", TOXIC, *FIXED, "--vk-out", vk, "--out", proof, "--json")
        assert json.loads(out)["proof"] == want, device
        inputs.write_text(out)
        cuzk("verify", "--proof", proof, "--vk", vk, "--inputs", inputs)


def test_contradicting_options_are_refused(cuzk, winning):
    cuzk("prove", *winning, "--device", "cpu", "--dev-key", "--params", "x.params", code=64)
    cuzk("prove", *winning, "--device", "cpu", "--params", "x.params", "--test-toxic", TOXIC, code=64)
    cuzk("prove", *winning, "--device", "cpu", "--dev-key", "--repeat", "0", code=64)
    cuzk("bench", "prove", *winning, "--device", "cpu", code=64)


@pytest.mark.parametrize("what", ["ntt", "msm"])
def test_bench_takes_a_device(cuzk, gpus, what):
    for device in ["cpu", *[d["device"] for d in gpus]]:
        got = cuzk.json("bench", what, "--lg", "12", "--samples", "2", "--device", device)
        assert got["device"] == device and got["rows"]
        assert all(r["min"] > 0 and len(r["samples"]) == 2 for r in got["rows"])


def test_bench_of_rows_takes_a_circuit_or_an_input(cuzk, gpus, winning):
    for device in ["cpu", *[d["device"] for d in gpus]]:
        for what in (["--circuit", "WindowPoSt 2KiB"], winning):
            got = cuzk.json("bench", "spmv", *what, "--samples", "2", "--device", device)
            assert got["device"] == device and got["circuit"] in ("WindowPoSt 2KiB", "WinningPoSt 2KiB")
            (row,) = got["rows"]
            assert row["n"] > 10_000 and row["min"] > 0 and len(row["samples"]) == 2
    cuzk("bench", "spmv", code=64)
    cuzk("bench", "spmv", *winning, "--circuit", "PoRep 2KiB", code=64)
    cuzk("bench", "spmv", "--circuit", "PoRep 3KiB", code=5)


def test_benches_of_one_device_refuse_several(cuzk, gpus):
    for what in ("field", "ntt", "msm", "spmv"):
        cuzk("bench", what, "--lg", "10", "--circuit", "WindowPoSt 2KiB", "--device", "cpu,cpu", code=64)
        assert "one device" in cuzk.err
    for d in gpus:
        cuzk("bench", "field", "--device", d["device"], code=64)
