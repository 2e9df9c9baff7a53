"""The evaluation form of a key through the command line: same proofs as the reference's, refusals."""
import ctypes
import hashlib
import json
import os
import shutil
import struct

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


def test_file_ends_with_its_digest(made):
    raw, chunk = made[0].with_suffix(".evkey").read_bytes(), 16 << 20
    body = raw[:-64]
    digests = [hashlib.blake2b(body[at : at + chunk]).digest() for at in range(0, len(body), chunk)]
    assert raw[-64:] == hashlib.blake2b(b"".join(digests)).digest()


def test_a_gpu_makes_the_same_file(cuzk, made, tmp_path):
    out = tmp_path / "x.evkey"
    args = ("params", "transform", made[0], "--circuit", CIRCUIT, "-o", out, "--device")
    cuzk(*args, "gpu", code=64)
    assert "--device: expected" in cuzk.err
    cuzk(*args, "cuda:no such", code=5 if "cpu, cuda" in cuzk("--version") else 2)
    assert list(tmp_path.iterdir()) == []
    for d in cuzk.json("devices")["devices"]:
        if d["device"] != "cpu":
            cuzk(*args, d["device"])
            assert out.read_bytes() == made[0].with_suffix(".evkey").read_bytes(), d


class Watched:
    """What happens to the files of a folder, in order, as the kernel tells it."""

    OPENED, MOVED_HERE = 0x20, 0x80

    def __init__(self, folder):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        added = libc.inotify_add_watch(self.fd, os.fsencode(folder), self.OPENED | self.MOVED_HERE)
        assert self.fd >= 0 and added >= 0, os.strerror(ctypes.get_errno())

    def events(self):
        raw, out = os.read(self.fd, 1 << 20), []
        os.close(self.fd)
        while raw:
            _, mask, _, n = struct.unpack_from("iIII", raw)
            out.append((mask, raw[16 : 16 + n].rstrip(b"\0").decode()))
            raw = raw[16 + n :]
        return out


def test_it_has_its_name_once_it_is_checked(cuzk, made, tmp_path):
    out = tmp_path / "x.evkey"
    watched = Watched(tmp_path)
    cuzk("params", "transform", made[0], "--circuit", CIRCUIT, "-o", out)
    events = watched.events()
    unchecked = out.name + ".unchecked"
    order = [events.index((Watched.MOVED_HERE, unchecked)), events.index((Watched.OPENED, unchecked)), events.index((Watched.MOVED_HERE, out.name))]
    assert order == sorted(order) and order[2] == len(events) - 1, events
    assert [p.name for p in tmp_path.iterdir()] == [out.name]
    assert out.read_bytes() == made[0].with_suffix(".evkey").read_bytes()


def test_nothing_is_left_of_one_that_cannot_have_its_name(cuzk, made, tmp_path):
    out = tmp_path / "x.evkey"
    (out / "full").mkdir(parents=True)
    cuzk("params", "transform", made[0], "--circuit", CIRCUIT, "-o", out, code=None)
    assert cuzk.last_code != 0 and "rename" in cuzk.err, cuzk.err
    assert [p.name for p in tmp_path.iterdir()] == [out.name]


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
    damaged = bytearray(made[0].with_suffix(".evkey").read_bytes())
    damaged[-5000] ^= 1
    shutil.copy(made[0], tmp_path / "damaged.params")
    (tmp_path / "damaged.evkey").write_bytes(damaged)
    assert cuzk.json(*args, tmp_path / "damaged.params")["verified"] is True
    assert "evaluation_form_ignored" in cuzk.err and "damaged" in cuzk.err, cuzk.err
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
