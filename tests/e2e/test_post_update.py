"""PoSt and SnapDeals inputs through the command line: golden cases, bad cases, proofs."""
import json
import re

import pytest
from conftest import GOLDEN, TOXIC, golden_bytes

POST = sorted(p.name[: -len(".meta.json")] for p in (GOLDEN / "post").glob("*.meta.json"))
UPDATE = sorted(p.name[: -len(".meta.json")] for p in (GOLDEN / "update").glob("*.meta.json"))
SIZES = {1 << 10: "1KiB", 1 << 11: "2KiB", 1 << 12: "4KiB", 1 << 13: "8KiB", 1 << 14: "16KiB", 1 << 15: "32KiB", 1 << 23: "8MiB"}


def meta_of(folder, name):
    return json.loads((GOLDEN / folder / f"{name}.meta.json").read_text())


def post_args(name, meta):
    kind = meta["typ"].lower()
    args = ["--kind", kind, "--randomness", meta["randomness"], "--miner", meta["miner_id"]]
    if meta.get("registered_post_proof"):
        args += ["--registered-proof", meta["registered_post_proof"]]
    else:
        args += ["--sector-size", SIZES[meta["sector_size"]]]
        if kind == "window":
            args += ["--api-version", "1.2.0" if meta["api_version"] == "1.2.0" else "1.1.0"]
    files = [GOLDEN / "post" / f"{name}.sector{i}.vanilla.bin" for i in range(len(meta["sectors"]))]
    return args + files


def update_args(name, meta):
    args = ["--kind", "snap", "--sector-size", SIZES[meta["sector_size"]]]
    for key in ("comm_r_old", "comm_d_new", "comm_r_new"):
        args += ["--" + key.replace("_", "-"), meta[key]]
    return args + [GOLDEN / "update" / f"{name}.part{k}.vanilla.bin" for k in range(meta["partitions"])]


@pytest.mark.parametrize("name", POST)
def test_golden_post_is_described_and_valid(cuzk, name):
    meta = meta_of("post", name)
    got = cuzk.json("inspect", *post_args(name, meta))
    assert got["valid"] is True and got["kind"] == meta["typ"].lower()
    assert got["sector_size"] == meta["sector_size"] and got["partitions"] == meta["partitions"]
    assert got["public_inputs"] == meta["public_inputs"]
    assert got["registered_proof"] == meta.get("registered_post_proof")
    assert [s["id"] for s in got["sectors"]] == [s["sector_id"] for s in meta["sectors"]]


@pytest.mark.parametrize("name", UPDATE)
def test_golden_update_is_described_and_valid(cuzk, name):
    meta = meta_of("update", name)
    got = cuzk.json("inspect", *update_args(name, meta))
    assert got["valid"] is True and got["kind"] == "snap"
    assert got["partitions"] == meta["partitions"] and got["public_inputs"] == meta["public_inputs"]
    for key in ("comm_r_old", "comm_d_new", "comm_r_new"):
        assert got[key] == meta[key]


def bad_groups(prefix):
    """Cases of expect.tsv: name -> (expectation, files in order)."""
    groups = {}
    for line in (GOLDEN / "bad" / "expect.tsv").read_text().splitlines():
        if line.startswith(prefix):
            file, expect = line.split("\t")
            case = re.sub(r"\.\d\.bin(\.gz)?$", "", file)
            groups.setdefault(case, (expect, []))[1].append(file)
    return groups


UPDATE_BAD = {k: v for k, v in bad_groups("update-").items() if not v[0].startswith("context")}


@pytest.mark.parametrize("case", sorted(UPDATE_BAD))
def test_bad_update_does_what_expect_says(cuzk, case, tmp_path):
    expect, files = UPDATE_BAD[case]
    meta = meta_of("update", "2KiB-snap")
    paths = []
    for f in files:
        paths.append(tmp_path / f)
        paths[-1].write_bytes(golden_bytes(f"bad/{f}"))
    args = [a for a in update_args("2KiB-snap", meta) if not str(a).endswith(".bin")]
    got = cuzk.json("inspect", *args, *paths, code=0 if expect == "accept" else 2)
    assert got["valid"] is (expect == "accept")
    assert expect == "accept" or got["error"]


def test_wrong_request_values_are_refused_by_name(cuzk):
    meta = meta_of("update", "2KiB-snap")
    good = update_args("2KiB-snap", meta)
    r = "01000000fffffffffe5bfeff02a4bd5305d8a10908d83933487d9d2953a7ed73"
    for key in ("--comm-r-old", "--comm-d-new", "--comm-r-new"):
        i = good.index(key)
        for wrong in (r, "00" * 32, meta["comm_c"]):
            args = good[: i + 1] + [wrong] + good[i + 2 :]
            cuzk("inspect", *args, code=2)
            assert key.strip("-").replace("-", "_") in cuzk.err.replace("-", "_")
        cuzk("inspect", *(good[:i] + good[i + 2 :]), code=64)
    post = meta_of("post", "window-2KiB-V1_2-2sectors")
    args = post_args("window-2KiB-V1_2-2sectors", post)
    i = args.index("--randomness")
    cuzk("inspect", *(args[: i + 1] + ["00" * 32] + args[i + 2 :]), code=2)
    cuzk("inspect", *(args[: i + 1] + ["00"] + args[i + 2 :]), code=2)
    cuzk("inspect", *args[:-2], code=64)
    cuzk("inspect", "--kind", "winning", *args[2:], code=2)
    cuzk("inspect", "--kind", "nonsense", *args[2:], code=64)


@pytest.fixture(scope="module")
def keys(cuzk, tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    made = {}

    def make(circuit):
        if circuit not in made:
            made[circuit] = folder / (circuit.replace(" ", "-") + ".params")
            cuzk("params", "generate", "--circuit", circuit, "--test-toxic", TOXIC, "-o", made[circuit])
        return made[circuit]

    return make


@pytest.mark.parametrize("circuit,golden", [("WindowPoSt 2KiB", "window-2KiB"), ("WinningPoSt 2KiB", "winning-2KiB"), ("EmptySectorUpdate 2KiB", "update-2KiB")])
def test_keys_equal_golden(cuzk, keys, golden_params, circuit, golden):
    want = golden_params[golden]
    got = cuzk.json("params", "inspect", keys(circuit))
    assert got["bytes"] == want["file"]["length"] and got["digest"] == want["file"]["filecoin_digest"]
    assert keys(circuit).with_suffix(".vk").read_bytes().hex() == want["vk_file"]


PROVEN = [n for n in POST if "-2KiB" in n] + ["2KiB-snap"]


@pytest.mark.parametrize("name", PROVEN)
def test_proofs_equal_golden(cuzk, keys, golden_proofs, name):
    if name in POST:
        meta = meta_of("post", name)
        args = post_args(name, meta)
        circuit = f"{meta['typ']}PoSt 2KiB"
    else:
        args = update_args(name, meta_of("update", name))
        circuit = "EmptySectorUpdate 2KiB"
    got = cuzk.json("prove", *args, "--params", keys(circuit), "--test-r", "27134", "--test-s", "17146")
    assert got["verified"] is True
    want = golden_proofs.get(name if name in golden_proofs else f"update-{name}")
    if want and "proof" in want["partitions"][0]:
        assert got["proof"] == "".join(p["proof"] for p in want["partitions"])
        assert got["public_inputs"] == [p["public_inputs"] for p in want["partitions"]]
    out = cuzk("verify", "--proof", got["proof"], "--params", keys(circuit), *args)
    assert out.startswith("valid")
