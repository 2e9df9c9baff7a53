"""cuzk gen: every kind passes `cuzk inspect`, bytes follow from the seed, bad requests say why, and a generated porep is proven."""
import hashlib
import json
import time

import pytest

KIB_SIZES = ["2KiB", "4KiB", "16KiB", "32KiB"]
MADE = (
    [("porep", s, ["--version", v]) for s in KIB_SIZES for v in ("v1", "v1_1", "synthetic", "ni")]
    + [("porep", s, []) for s in ("8MiB", "16MiB", "512MiB", "1GiB")]
    + [("winning", s, []) for s in KIB_SIZES + ["8MiB", "512MiB", "32GiB", "64GiB"]]
    + [("window", s, ["--sectors", "3", "--version", v]) for s in KIB_SIZES + ["8MiB", "32GiB"] for v in ("v1", "v1_2")]
    + [("snap", s, []) for s in ["1KiB", "8KiB"] + KIB_SIZES + ["8MiB", "16MiB", "32GiB"]]
)


def make(cuzk, out, kind, size, *options):
    got = cuzk.json("gen", "--kind", kind, "--size", size, "--out", out, *options)
    assert got["kind"] == kind and got["out"] == str(out)
    files = [out] if out.is_file() else sorted(out.iterdir())
    assert (got["files"], got["bytes"]) == (len(files), sum(f.stat().st_size for f in files))
    return files


def digest(files):
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def inspect(cuzk, out):
    request = [out] if out.is_file() else ["--request", out / "request.json"]
    return cuzk.json("inspect", *request)


@pytest.mark.parametrize("kind,size,options", MADE, ids=lambda v: "-".join(v) if isinstance(v, list) else v)
def test_generated_input_is_valid(cuzk, tmp_path, kind, size, options):
    make(cuzk, tmp_path / "out", kind, size, "--seed", "5", *options)
    got = inspect(cuzk, tmp_path / "out")
    assert got["valid"] is True and got["kind"] == kind, got["error"]


def test_32gib_porep_takes_less_than_30_seconds_on_one_thread(cuzk, tmp_path):
    begin = time.monotonic()
    make(cuzk, tmp_path / "c1.json", "porep", "32GiB", "--threads", "1")
    assert time.monotonic() - begin < 30
    assert inspect(cuzk, tmp_path / "c1.json")["partitions"] == 10


@pytest.mark.slow
@pytest.mark.parametrize("version", ["synthetic", "ni"])
def test_sealed_8mib_is_valid(cuzk, tmp_path, version):
    make(cuzk, tmp_path / "c1.json", "porep", "8MiB", "--version", version)
    assert inspect(cuzk, tmp_path / "c1.json")["valid"] is True


@pytest.mark.slow
def test_full_window_partition_is_valid(cuzk, tmp_path):
    make(cuzk, tmp_path / "out", "window", "32GiB", "--sectors", "2349")
    got = inspect(cuzk, tmp_path / "out")
    assert got["valid"] is True and got["partitions"] == 1


@pytest.mark.parametrize("kind", ["porep", "winning", "window", "snap"])
def test_bytes_follow_from_the_seed(cuzk, tmp_path, kind):
    a = digest(make(cuzk, tmp_path / "a" if kind != "porep" else tmp_path / "a.json", kind, "2KiB", "--seed", "9", "--threads", "1"))
    (tmp_path / "again").mkdir()
    out = tmp_path / "again" / "a.json" if kind == "porep" else tmp_path / "again"
    assert digest(make(cuzk, out, kind, "2KiB", "--seed", "9", "--threads", "3")) == a
    other = digest(make(cuzk, out, kind, "2KiB", "--seed", "10"))
    assert other.keys() == a.keys() and all(other[name] != a[name] for name in a)


def test_porep_names_miner_sector_and_wrapper(cuzk, tmp_path):
    ids = ["--miner", "77", "--sector", "123"]
    make(cuzk, tmp_path / "w.json", "porep", "2KiB", "--wrapped", *ids)
    wrapper = json.loads((tmp_path / "w.json").read_bytes())
    assert (wrapper["SectorNum"], wrapper["SectorSize"]) == (123, 2048)
    cuzk("inspect", tmp_path / "w.json", *ids)
    cuzk("inspect", tmp_path / "w.json", "--miner", "78", "--sector", "123", code=2)
    assert "replica_id" in cuzk.err


def test_window_numbers_its_sectors(cuzk, tmp_path):
    make(cuzk, tmp_path / "out", "window", "2KiB", "--sectors", "5", "--sector", "100")
    request = json.loads((tmp_path / "out" / "request.json").read_text())
    assert [s["sector_id"] for s in request["sectors"]] == list(range(100, 105))
    assert len({s["comm_r"] for s in request["sectors"]}) == 5
    assert request["partitions"] == 3 and len(request["files"]) == 5


REFUSED = [
    (["--kind", "porep"], 64, "--size"),
    (["--kind", "cake", "--size", "2KiB"], 64, "--kind"),
    (["--kind", "porep", "--size", "3KiB"], 64, "--size"),
    (["--kind", "porep", "--size", "1KiB"], 64, "snap only"),
    (["--kind", "snap", "--size", "1GiB"], 64, "--size"),
    (["--kind", "porep", "--size", "2KiB", "--version", "v1_2"], 64, "--version"),
    (["--kind", "winning", "--size", "2KiB", "--version", "v1_2"], 64, "--version"),
    (["--kind", "window", "--size", "2KiB", "--version", "ni"], 64, "--version"),
    (["--kind", "snap", "--size", "2KiB", "--version", "v1"], 64, "--version"),
    (["--kind", "winning", "--size", "2KiB", "--sectors", "2"], 64, "--sectors"),
    (["--kind", "porep", "--size", "2KiB", "--sectors", "2"], 64, "--sectors"),
    (["--kind", "window", "--size", "2KiB", "--sectors", "0"], 64, "--sectors"),
    (["--kind", "snap", "--size", "2KiB", "--wrapped"], 64, "--wrapped"),
    (["--kind", "porep", "--size", "2KiB", "--seed", "-1"], 64, "--seed"),
    (["--kind", "porep", "--size", "16MiB", "--version", "synthetic"], 2, "comm_r"),
    (["--kind", "porep", "--size", "32GiB", "--version", "ni"], 2, "comm_r"),
    (["--kind", "window", "--size", "2KiB", "--sectors", "2", "--sector", str(2**64 - 1)], 2, "sector"),
]


@pytest.mark.parametrize("options,code,why", REFUSED, ids=lambda v: " ".join(v) if isinstance(v, list) else None)
def test_bad_requests_are_refused_with_the_reason(cuzk, tmp_path, options, code, why):
    cuzk("gen", *options, "--out", tmp_path / "out", code=code)
    assert why in cuzk.err and not (tmp_path / "out").exists()


def test_output_that_cannot_be_written_is_a_file_error(cuzk, tmp_path):
    (tmp_path / "file").write_text("")
    cuzk("gen", "--kind", "snap", "--size", "2KiB", "--out", tmp_path / "file", code=5)
    cuzk("gen", "--kind", "porep", "--size", "2KiB", "--out", tmp_path / "none" / "c1.json", code=5)
    cuzk("gen", "--kind", "porep", "--size", "2KiB", code=64)


def test_generated_porep_is_proven_and_verified(cuzk, porep_params, tmp_path):
    make(cuzk, tmp_path / "c1.json", "porep", "2KiB", "--seed", "3")
    got = cuzk.json("prove", tmp_path / "c1.json", "--params", porep_params)
    assert got["verified"] is True
