"""cuzk circuits against golden R1CS data, and what every command prints about itself."""
import subprocess

import pytest
from conftest import golden_json

COMMANDS = ["prove", "verify", "inspect", "gen", "circuits", "params", "bench"]


@pytest.fixture(scope="module")
def golden():
    return {c["name"]: c for c in golden_json("r1cs")["circuits"]}


def test_list_has_golden_counts(cuzk, golden):
    rows = cuzk.json("circuits")
    assert len(rows) >= 10
    for row in rows:
        want = golden[row["name"]]
        for key in ("num_inputs", "num_aux", "num_constraints", "log2_domain", "nnz"):
            assert row[key] == want[key], (row["name"], key)
        for key in ("a_aux", "b_aux", "b_inputs"):
            assert row["density"][key] == want["density"][key], (row["name"], key)


def test_key_size_equals_the_real_file(cuzk, golden_params):
    rows = {r["name"]: r for r in cuzk.json("circuits")}
    assert rows["PoRep 2KiB"]["params_bytes"] == golden_params["porep-2KiB"]["file"]["length"]
    assert rows["PoRep 32GiB"]["params_bytes"] == 47_373_928_632


@pytest.mark.parametrize("name", ["sha256 compression, 512 alloc bits, constant IV", "PoR poseidon 8-4-2, 64*8 leaves, public root", "PoRep 2KiB"])
def test_digest_and_chunks(cuzk, golden, name):
    want = golden[name]
    got = cuzk.json("circuits", "--digest", name, "--chunk-rows", want["chunk_rows"])
    assert got["digest"] == want["digest"]
    assert [[c[0], c[2]] for c in got["chunks"]] == [[c[0], c[2]] for c in want["chunks"]]
    assert cuzk("circuits", "--digest", name).split()[0] == want["digest"]


def test_unknown_circuit_names_a_known_one(cuzk):
    cuzk("circuits", "--digest", "PoRep 3KiB", code=5)
    assert "PoRep 32" in cuzk.err or "PoRep 2KiB" in cuzk.err


@pytest.mark.parametrize("cmd", COMMANDS)
def test_help_explains_every_command(cuzk, cmd):
    text = cuzk(cmd, "--help")
    assert text.startswith(f"Usage: cuzk {cmd}") and "--json" in text
    assert cmd in cuzk("--help")


def test_version_has_build_facts(cuzk):
    text = cuzk("--version")
    for word in ("cuzk 0.", "commit", "compiler", "test hooks", "fields"):
        assert word in text


def test_paths_follow_the_environment(cuzk, golden_params):
    env = {"FIL_PROOFS_PARAMETER_CACHE": "/some/where", "PATH": "/usr/bin:/bin"}
    p = subprocess.run([cuzk.path, "params", "path", "--circuit", "PoRep 32GiB"], env=env, capture_output=True, check=True)
    assert p.stdout.decode().strip() == (
        "/some/where/v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-0-sha256_hasher-"
        "82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820.params")


@pytest.mark.parametrize("what", ["field", "ntt", "msm"])
def test_bench_prints_checked_rows(cuzk, what):
    got = cuzk.json("bench", what, "--lg", "10", "--samples", "2")
    assert got["rows"] and got["commit"] and got["threads"] >= 1
    for row in got["rows"]:
        assert 0 < row["min"] <= row["median"] <= row["max"]
        assert len(row["samples"]) == 2
