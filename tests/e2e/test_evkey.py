"""The evaluation form of a key through the command line: same proofs as the reference's, refusals."""
import json
import shutil

import pytest
from conftest import TOXIC
from test_post_update import meta_of, post_args

CIRCUIT = "WindowPoSt 2KiB"


@pytest.fixture(scope="module")
def made(cuzk, tmp_path_factory):
    """A key with its evaluation form, and what transform said."""
    path = tmp_path_factory.mktemp("evkey") / "w.params"
    cuzk("params", "generate", "--circuit", CIRCUIT, "--test-toxic", TOXIC, "-o", path)
    trace = path.with_name("trace.json")
    said = cuzk.json("params", "transform", path, "--circuit", CIRCUIT, "--trace", trace)
    return path, said, json.loads(trace.read_text())


def test_transform_tells_what_it_made(made):
    path, said, trace = made
    evkey = path.with_suffix(".evkey")
    assert said["file"] == str(evkey) and said["bytes"] == evkey.stat().st_size
    assert said["circuit"] == CIRCUIT and said["log2_domain"] == 15
    assert said["make_seconds"] > 0 and said["check_seconds"] > 0
    assert [p.name for p in evkey.parent.glob("*.tmp-*")] == []
    root = next(e for e in trace["traceEvents"] if e["name"] == "run")
    assert root["args"]["unaccounted_ms"] <= 0.01 * root["dur"] / 1000


@pytest.mark.parametrize("name", ["window-2KiB-V1_1-2sectors", "window-2KiB-V1_2-1sector"])
def test_proofs_equal_golden(cuzk, made, golden_proofs, name):
    args = post_args(name, meta_of("post", name))
    got = cuzk.json("prove", *args, "--params", made[0], "--device", "cpu", "--test-r", "27134", "--test-s", "17146")
    assert got["proof"] == "".join(p["proof"] for p in golden_proofs[name]["partitions"])


def test_check_looks_at_it(cuzk, made, tmp_path):
    path = tmp_path / "w.params"
    shutil.copy(made[0], path)
    assert "evaluation form" not in cuzk("params", "check", path)
    good = made[0].with_suffix(".evkey").read_bytes()
    bad = bytearray(good)
    bad[300 + 96 * 1000] ^= 1
    evkey = path.with_suffix(".evkey")
    evkey.write_bytes(good)
    assert "evaluation form (head)" in cuzk("params", "check", path, "--circuit", CIRCUIT)
    assert "evaluation form (digests" in cuzk("params", "check", path, "--full")
    evkey.write_bytes(bad)
    cuzk("params", "check", path)
    cuzk("params", "check", path, "--full", code=2)


def test_one_that_does_not_fit_costs_no_proof(cuzk, made, tmp_path):
    name = "window-2KiB-V1_1-2sectors"
    args = ["prove", *post_args(name, meta_of("post", name)), "--device", "cpu", "--params"]
    other = tmp_path / "w.params"
    cuzk("params", "generate", "--circuit", CIRCUIT, "-o", other)
    shutil.copy(made[0].with_suffix(".evkey"), other.with_suffix(".evkey"))
    assert cuzk.json(*args, other)["verified"] is True
    assert "evaluation_form_ignored" in cuzk.err and "verifying key" in cuzk.err, cuzk.err
    cuzk("params", "check", other, code=2)
    other.with_suffix(".evkey").unlink()
    assert cuzk.json(*args, other)["verified"] is True
    assert "evaluation_form" not in cuzk.err


def test_wrong_use(cuzk, made, tmp_path):
    cuzk("params", "transform", made[0], code=64)
    cuzk("params", "transform", "--circuit", CIRCUIT, code=64)
    out = tmp_path / "x.evkey"
    cuzk("params", "transform", made[0], "--circuit", "WinningPoSt 2KiB", "-o", out, code=2)
    assert not out.exists()
