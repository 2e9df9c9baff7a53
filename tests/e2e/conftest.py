"""Fixtures of the end-to-end tests: the real binary, golden data, and one development key made by the binary itself."""
import gzip
import hashlib
import json
import os
import pathlib
import subprocess

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "soak: also run with large counts (CUZK_SOAK=1)")


GOLDEN = pathlib.Path(os.environ["CUZK_GOLDEN_DIR"])
TOXIC = "48577,22580,53332,5481,3673"


def golden_json(name):
    return json.loads(gzip.decompress((GOLDEN / f"{name}.json.gz").read_bytes()))


def golden_bytes(path):
    raw = (GOLDEN / path).read_bytes()
    return gzip.decompress(raw) if str(path).endswith(".gz") else raw


class Cuzk:
    """Runs the binary; a crash (signal) or a sanitizer report is never an expected result."""

    def __init__(self, path):
        self.path = path

    def __call__(self, *args, stdin=None, code=0, timeout=900, env=None):
        p = subprocess.run([self.path, *map(str, args)], input=stdin, capture_output=True, timeout=timeout, check=False, env=env)
        out, err = p.stdout.decode(), p.stderr.decode()
        assert p.returncode >= 0, f"killed by signal {-p.returncode}: {args}\n{err}"
        assert "Sanitizer" not in err and "runtime error" not in err, err
        if code is not None:
            assert p.returncode == code, f"exit code {p.returncode}, expected {code}: {args}\n{out}\n{err}"
        self.last_code, self.err = p.returncode, err
        return out

    def json(self, *args, **kw):
        return json.loads(self(*args, "--json", **kw))


@pytest.fixture(scope="session")
def cuzk():
    return Cuzk(os.environ["CUZK_BIN"])


@pytest.fixture(scope="session")
def golden_params():
    return {p["name"]: p for p in golden_json("params")["params"]}


@pytest.fixture(scope="session")
def golden_proofs():
    return {p["name"]: p for p in golden_json("proofs")["proofs"]}


def sha256_file(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else hashlib.sha256(f.read()).hexdigest()


@pytest.fixture(scope="session")
def porep_params(cuzk):
    """The PoRep 2 KiB key of the golden toxic waste, kept beside the binary; test_params compares its bytes with golden."""
    folder = pathlib.Path(cuzk.path).parent / "e2e-keys"
    folder.mkdir(exist_ok=True)
    path = folder / "porep-2KiB.params"
    stamp = folder / "made-by"
    me = sha256_file(cuzk.path)
    if not path.exists() or not stamp.exists() or stamp.read_text() != me:
        cuzk("params", "generate", "--circuit", "PoRep 2KiB", "--test-toxic", TOXIC, "-o", path, timeout=1500)
        stamp.write_text(me)
    return path


@pytest.fixture
def c1_file(tmp_path):
    def make(name, form="c1"):
        path = tmp_path / f"{name}.{form}.json"
        path.write_bytes(golden_bytes(f"porep/{name}.{form}.json.gz"))
        return path

    return make
