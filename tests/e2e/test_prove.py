"""Keys and proofs byte for byte against the reference, through the command line."""
import hashlib
import json

import pytest
from conftest import GOLDEN, golden_bytes

FIXED = ["--test-r", "27134", "--test-s", "17146"]


def test_key_equals_golden_byte_for_byte(porep_params, golden_params):
    want = golden_params["porep-2KiB"]
    data = porep_params.read_bytes()
    assert len(data) == want["file"]["length"]
    for s in want["sections"]:
        got = hashlib.sha256(memoryview(data)[s["offset"] : s["offset"] + s["length"]]).hexdigest()
        assert got == s["sha256"], s["name"]
    assert hashlib.sha256(data).hexdigest() == want["file"]["sha256"]
    assert porep_params.with_suffix(".vk").read_bytes().hex() == want["vk_file"]


def test_params_inspect_and_check(cuzk, porep_params, golden_params, tmp_path):
    want = golden_params["porep-2KiB"]
    got = cuzk.json("params", "inspect", porep_params)
    assert got["digest"] == want["file"]["filecoin_digest"]
    assert got["published"] is False and "not for mainnet" in got["origin"]
    counts = {s["name"]: s["count"] for s in want["sections"] if "count" in s}
    assert {k: got[k] for k in counts} == counts
    cuzk("params", "check", porep_params, "--circuit", "PoRep 2KiB")
    cuzk("params", "check", porep_params, "--circuit", "PoRep 8MiB", code=2)
    cut = tmp_path / "cut.params"
    cut.write_bytes(porep_params.read_bytes()[:1_000_000])
    cuzk("params", "check", cut, code=2)


@pytest.mark.parametrize("name", ["V1", "V1_1", "Synthetic"])
def test_proof_equals_golden_byte_for_byte(cuzk, c1_file, porep_params, golden_proofs, name, tmp_path):
    want = golden_proofs[f"porep-2KiB-{name}"]["partitions"][0]
    raw = tmp_path / "proof.bin"
    trace = tmp_path / "trace.json"
    got = cuzk.json("prove", c1_file(f"2KiB-{name}"), "--params", porep_params, *FIXED, "--out", raw, "--trace", trace)
    assert got["proof"] == want["proof"]
    assert raw.read_bytes().hex() == want["proof"]
    assert got["public_inputs"] == [want["public_inputs"]]
    assert got["verified"] is True and got["device"] == "cpu"
    assert 0 < got["timings_ms"]["witness"] < 0.1 * got["timings_ms"]["total"]
    check_trace(json.loads(trace.read_text()))


def check_trace(trace):
    """Unaccounted time of the whole run and of prove is at most 1 %."""
    spans = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
    named = {e["name"]: e for e in reversed(spans)}
    for name in ("run", "prove"):
        e = named[name]
        assert e["args"]["unaccounted_ms"] <= 0.01 * e["dur"] / 1000, e
    leaves = sum(e["args"].get("unaccounted_ms", 0) for e in spans)
    assert leaves <= 0.01 * named["run"]["dur"] / 1000, "all levels together"


@pytest.mark.parametrize("name,partition", [("V1_1-b", 0), ("V1_1-dup", 0), ("NonInteractive", 12)])
def test_other_cases_verify_and_tampering_does_not(cuzk, c1_file, porep_params, name, partition, tmp_path):
    proof, inputs = tmp_path / "proof.bin", tmp_path / "inputs.json"
    out = cuzk("prove", c1_file(f"2KiB-{name}", "wrapped"), "--params", porep_params, "--partition", partition, "--out", proof, "--json")
    inputs.write_text(out)
    vk = porep_params.with_suffix(".vk")
    verify = ["verify", "--proof", proof, "--vk", vk, "--inputs"]
    cuzk(*verify, inputs)
    doc = json.loads(out)
    # An input, the proof and the key, one bit each. A flipped point is most often no point at all: code 2; never 0.
    flipped = doc["public_inputs"][0]
    flipped[3] = f"{int(flipped[3][:2], 16) ^ 1:02x}" + flipped[3][2:]
    bad_inputs = tmp_path / "bad.json"
    bad_inputs.write_text(json.dumps(doc))
    cuzk(*verify, bad_inputs, code=3)
    raw = bytearray(proof.read_bytes())
    swapped = bytes(raw[144:192] + raw[48:144] + raw[0:48])  # C B A: valid points, wrong equation
    cuzk("verify", "--proof", swapped.hex(), "--vk", vk, "--inputs", inputs, code=3)
    raw[100] ^= 1
    cuzk("verify", "--proof", raw.hex(), "--vk", vk, "--inputs", inputs, code=2)
    key = bytearray(vk.read_bytes())
    key[0:96], key[96:192] = key[96:192], key[0:96]  # alpha and beta in G1 exchanged
    bad_vk = tmp_path / "bad.vk"
    bad_vk.write_bytes(key)
    cuzk("verify", "--proof", proof, "--vk", bad_vk, "--inputs", inputs, code=3)


def test_verify_against_the_c1_itself(cuzk, c1_file, porep_params, golden_proofs):
    proof = golden_proofs["porep-2KiB-V1_1"]["partitions"][0]["proof"]
    c1 = c1_file("2KiB-V1_1")
    out = cuzk("verify", "--proof", proof, "--c1", c1, "--params", porep_params)
    assert out.startswith("valid: 1 proof")
    cuzk("verify", "--proof", proof, "--c1", c1_file("2KiB-V1"), "--params", porep_params, code=3)
    cuzk("verify", "--proof", proof + proof, "--c1", c1, "--params", porep_params, code=2)
    cuzk("verify", "--proof", "zz", "--c1", c1, "--params", porep_params, code=2)
    cuzk("verify", "--proof", proof, code=64)


def test_a_key_of_another_circuit_is_refused(cuzk, c1_file, porep_params, tmp_path):
    cuzk("prove", c1_file("8MiB-V1_1"), "--params", porep_params, code=2)
    assert "section l" in cuzk.err and "expects 3842449 points, found 2685673" in cuzk.err
    cuzk("prove", c1_file("2KiB-V1_1"), "--params", tmp_path / "absent.params", code=5)


@pytest.mark.slow
@pytest.mark.parametrize("case", sorted(
    line.split("\t")[0]
    for line in (GOLDEN / "bad" / "expect.tsv").read_text().splitlines()
    if line.startswith(("c1-", "wrapped-")) and line.endswith("accept")))
def test_prove_accepts_what_expect_accepts(cuzk, porep_params, golden_proofs, case, tmp_path):
    path = tmp_path / "case.json"
    path.write_bytes(golden_bytes(f"bad/{case}"))
    got = cuzk.json("prove", path, "--params", porep_params, *FIXED)
    assert got["verified"] is True


def test_two_devices_make_one_proof_set(cuzk, tmp_path):
    """Two CPU devices share what one would make; the JSON says who made how much."""
    folder = tmp_path / "w"
    cuzk("gen", "--kind", "window", "--size", "2KiB", "--sectors", "3", "-o", folder)
    got = cuzk.json("prove", "--request", folder / "request.json", "--dev-key", "--device", "cpu,cpu")
    assert got["verified"] is True and got["device"] == "cpu,cpu"
    assert sum(d["proofs"] for d in got["devices"]) == got["partitions"]
    assert all(d["faults"] == 0 for d in got["devices"])


def test_unknown_devices_are_refused(cuzk, tmp_path):
    folder = tmp_path / "w"
    cuzk("gen", "--kind", "window", "--size", "2KiB", "--sectors", "1", "-o", folder)
    for device in ("gpu", "cpu,", "0", "cpu,1", "opencl:0"):
        cuzk("prove", "--request", folder / "request.json", "--dev-key", "--device", device, code=64)
        assert "--device: expected" in cuzk.err, cuzk.err
