"""cuzk inspect and the refusals of cuzk prove, over all golden C1 outputs, good and bad."""
import json

import pytest
from conftest import GOLDEN, golden_bytes

CASES = sorted(p.name[: -len(".meta.json")] for p in (GOLDEN / "porep").glob("*.meta.json"))
EXPECT = dict(
    line.split("\t")
    for line in (GOLDEN / "bad" / "expect.tsv").read_text().splitlines()
    if line and not line.startswith("#")
)
C1_CASES = sorted(n for n in EXPECT if n.startswith(("c1-", "wrapped-")))


def meta_of(name):
    return json.loads((GOLDEN / "porep" / f"{name}.meta.json").read_text())


@pytest.mark.parametrize("form", ["c1", "wrapped"])
@pytest.mark.parametrize("name", CASES)
def test_golden_c1_is_described_and_valid(cuzk, c1_file, name, form):
    meta = meta_of(name)
    got = cuzk.json("inspect", c1_file(name, form))
    assert got["kind"] == "porep" and got["valid"] is True and got["error"] is None
    for key in ("comm_r", "comm_d", "replica_id"):
        assert got[key] == meta[key], key
    assert got["sector_size"] == meta["sector_size"]
    assert got["partitions"] == meta["partitions"]
    assert got["public_inputs"] == meta["public_inputs"]
    if meta["invented_registered_proof"] is None:
        assert got["registered_proof"] == json.loads(golden_bytes(f"porep/{name}.c1.json.gz"))["registered_proof"]


@pytest.mark.parametrize("case", C1_CASES)
def test_inspect_does_what_expect_says(cuzk, tmp_path, case):
    path = tmp_path / "case.json"
    path.write_bytes(golden_bytes(f"bad/{case}"))
    refuse = EXPECT[case] == "refuse"
    got = cuzk.json("inspect", path, code=2 if refuse else 0)
    assert got["valid"] is not refuse
    if refuse:
        assert len(got["error"]) > 10
        assert got["error"] in cuzk.err


@pytest.mark.parametrize("case", [c for c in C1_CASES if EXPECT[c] == "refuse"])
def test_prove_refuses_before_any_work(cuzk, tmp_path, case):
    path = tmp_path / "case.json"
    path.write_bytes(golden_bytes(f"bad/{case}"))
    # No key exists at this path: a refusal with code 2 shows that the input was looked at first.
    cuzk("prove", path, "--params", tmp_path / "absent.params", code=2, timeout=60)
    assert cuzk.err.startswith("cuzk prove: ")


def test_wrong_ticket_is_refused_with_miner_and_sector_only(cuzk, tmp_path):
    meta = meta_of("2KiB-V1_1")
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_bytes(golden_bytes("porep/2KiB-V1_1.c1.json.gz"))
    bad.write_bytes(golden_bytes("bad/c1-40-flip-ticket.json.gz"))
    ids = ["--miner", meta["miner_id"], "--sector", meta["sector_id"]]
    cuzk("inspect", bad)
    cuzk("inspect", good, *ids)
    cuzk("inspect", bad, *ids, code=2)
    assert "replica_id" in cuzk.err
    cuzk("prove", bad, *ids, code=2)


def test_inspect_reads_standard_input(cuzk):
    text = golden_bytes("porep/2KiB-V1_1.c1.json.gz")
    assert cuzk.json("inspect", "-", stdin=text)["valid"] is True


def test_exit_codes_of_files_and_usage(cuzk, tmp_path):
    cuzk("inspect", tmp_path / "none.json", code=5)
    cuzk("inspect", tmp_path, code=5)
    cuzk("inspect", code=64)
    cuzk("inspect", "a", "b", code=64)
    cuzk("inspect", "--nonsense", "a", code=64)
    cuzk("nonsense", code=64)
    cuzk("inspect", tmp_path / "none.json", "--miner", "1", code=64)
    cuzk("inspect", tmp_path / "none.json", "--threads", "-1", code=64)
