"""The client commands against the pretending engine, and what they promise to scripts."""
import hashlib
import json
import os
import pty
import signal
import subprocess
import threading
import time

import pytest
from rpc_fixtures import fake  # noqa: F401


@pytest.fixture
def server(fake):
    return fake()


@pytest.fixture
def run(cuzk, server):
    """run(command, ...) with the server's address in the environment."""
    env = {**os.environ, "CUZK_SERVER": server.addresses[0]}

    def call(*args, **kw):
        return cuzk(*args, env={**env, **kw.pop("more_env", {})}, **kw)

    call.env, call.path = env, cuzk.path
    call.json = lambda *args, **kw: json.loads(call(*args, "--json", **kw))
    call.error = lambda: cuzk.err
    return call


@pytest.fixture
def script(tmp_path):
    """A file that tells the pretending engine what to do."""

    def make(text, name="c1.json"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return make


def digest(text):
    return hashlib.blake2b(text.encode()).hexdigest()


def test_submit_await_and_out(run, script, tmp_path):
    made = run.json("submit", script("hello"), "--request-id", "a b", "--priority", "high")
    assert made["job_id"] == "a b" and made["existing"] is False and made["job"]["priority"] == "high"
    assert run.json("submit", script("hello"), "--request-id", "a b")["existing"] is True
    got = run.json("await", "a b", "--out", tmp_path / "proof")
    assert got["status"] == "completed" and got["proof"][:128] == digest("hello") and got["error"] is None
    assert got["job"]["times"]["witness_ms"] == 3
    assert (tmp_path / "proof").read_bytes().hex() == got["proof"]
    text = run("await", "a b")
    assert text.startswith("job a b: completed\nproof 0: " + digest("hello")) and "device 4 ms" in text
    assert "known already" in run("submit", script("hello"), "--request-id", "a b")
    waited = run.json("submit", script("sleep:100"), "--wait", "--out", tmp_path / "p2")
    assert waited["status"] == "completed" and (tmp_path / "p2").stat().st_size == 192


def test_exit_codes_say_what_came_of_it(run, script):
    run("submit", script("invalid:comm_r: expected 32 bytes"), code=2)
    assert "comm_r: expected 32 bytes" in run.error()
    run("submit", script("impossible:needs 44 GiB"), code=4)
    run("submit", script("busy:1000"), code=4)
    assert "retry after 1000 ms" in run.error()
    run("submit", script("fail:partition 3: broken"), "--request-id", "f")
    text = run("await", "f", code=3)  # the engine's code says: proof does not verify
    assert "job f: failed: partition 3: broken" in text
    run("submit", script("hang"), "--request-id", "h")
    assert run.json("await", "h", "--timeout", "200ms", code=4)["status"] == "timeout"
    assert "being cancelled" in run("cancel", "h")
    assert run.json("await", "h", code=6)["status"] == "cancelled"
    assert run.json("cancel", "h") == [{"job_id": "h", "was_running": False}]
    run("await", "nobody", code=5)
    run("cancel", "nobody", code=5)
    run("await", "h", "--timeout", "soon", code=64)
    run("await", code=64)
    run("submit", code=64)
    run("submit", "/nonexistent", code=5)
    run("status", "--server", "nonsense", code=2)
    run("status", "--server", "127.0.0.1:1", code=5)
    assert "daemon at 127.0.0.1:1" in run.error()


def test_requests_of_cuzk_gen_are_taken(run, server, cuzk, tmp_path):
    cuzk("gen", "--kind", "window", "--size", "2KiB", "--sectors", "2", "-o", tmp_path / "w")
    cuzk("gen", "--kind", "winning", "--size", "2KiB", "-o", tmp_path / "n")
    cuzk("gen", "--kind", "snap", "--size", "2KiB", "-o", tmp_path / "s")
    for k, kind in [("w", "window-post"), ("n", "winning-post"), ("s", "snap-update")]:
        made = run.json("submit", "--request", tmp_path / k / "request.json")
        assert made["job"]["proof_kind"] == kind and made["job"]["sector_size"] == 2048
        if k != "s":
            assert made["job"]["miner_id"] == 1000
        files = json.loads((tmp_path / k / "request.json").read_text())["files"]
        want = hashlib.blake2b(b"".join((tmp_path / k / f).read_bytes() for f in files)).hexdigest()
        assert run.json("await", made["job_id"])["proof"][:128] == want
    run("submit", "--request", tmp_path / "w/request.json", "--registered-proof", "StackedDrgWindow4KiBV1", code=64)
    run("submit", "--request", tmp_path / "s/request.json", "--h", "3", code=64)
    assert server.stats()["submissions"] == 3


def test_jobs_status_and_metrics(run, script):
    run("submit", script("hello"), "--request-id", "done", "--wait")
    run("submit", script("hang"), "--request-id", "runs")
    jobs = run.json("jobs")
    assert [j["job_id"] for j in jobs] == ["runs", "done"] and jobs[1]["state"] == "done"
    assert [j["job_id"] for j in run.json("jobs", "--state", "done")] == ["done"]
    assert run.json("jobs", "--limit", "1")[0]["job_id"] == "runs"
    assert run.json("jobs", "done")[0]["proof_bytes"] == 192
    table = run("jobs").splitlines()
    assert table[0].split()[:2] == ["job", "circuit"] and table[1].split()[0] == "runs" and len(table) == 3
    run("jobs", "--state", "lost", code=64)
    text = run("status")
    assert "\x1b" not in text and "fake:3" in text and "runs" in text and "porep-c2" in text and "porep-2k" in text
    assert json.loads(run("status", "--json"))["uptime_secs"] == 12
    metrics = run("metrics")
    assert "# TYPE cuzk_proofs_completed_total counter\ncuzk_proofs_completed_total 1\n" in metrics
    run("cancel", "runs")


def test_preload_and_evict(run):
    assert "porep-2k: loaded in 7 ms" in run("preload", "porep-2k")
    assert run.json("preload", "porep-2k") == [{"circuit_id": "porep-2k", "was_loaded": True, "load_ms": 0, "bytes": 0}]
    assert run.json("evict", "porep-2k")[0]["freed_bytes"] == 1000
    assert "was not loaded" in run("evict", "porep-2k")
    run("preload", "porep-3k", code=2)


def test_trace_shows_the_timeline(run, script, tmp_path):
    run("submit", script("x"), "--request-id", "t", "--wait")
    assert run.json("trace", "t")["spans"][0]["name"] == "job"
    assert "job" in run("trace", "t")
    run("trace", "t", "--gaps")
    run("trace", "t", "--perfetto", tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    run("trace", "nobody", code=5)
    run("trace", "t", "--perfetto", "/nonexistent/x", code=5)


def test_bench_counts_measures_and_fails(run, script, server):
    a, b = script("one", "a.json"), script("sleep:30", "b.json")
    r = run.json("bench", "e2e", f"{a}:3", b, "--count", "40", "--concurrency", "8")
    assert r["failed"] == 0 and r["count"] == 40 and [x["n"] for x in r["rows"]] == [30, 10, 40]
    assert r["rows"][1]["p50_ms"] >= 30 and r["proofs_per_minute"] > 0
    for row in r["rows"]:
        assert row["min_ms"] <= row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"] <= row["max_ms"]
    assert server.stats()["submissions"] == 40
    text = run("bench", "e2e", a, "--count", "5")
    assert "proofs a minute" in text and "a.json" in text
    bad = script("fail:broken", "bad.json")
    r = run.json("bench", "e2e", a, bad, "--count", "4", code=1)
    assert r["failed"] == 2 and "broken" in r["first_error"]
    assert "2 of 4 proofs failed" in run.error()
    run("bench", "e2e", "/nonexistent", code=5)
    run("bench", "e2e", code=64)
    run("bench", "e2e", f"{a}:0", code=64)


def test_bench_is_patient_with_a_busy_daemon(fake, cuzk, script):
    f = fake("--max-request-bytes", "200000")
    path = script("sleep:50" + " " * 60000)
    r = json.loads(cuzk("bench", "e2e", path, "--count", "12", "--concurrency", "6", "--server", f.addresses[0], "--json"))
    assert r["failed"] == 0 and r["busy_answers"] > 0


def test_token_and_its_places(fake, cuzk, script, tmp_path):
    f = fake("--token", "s3cret")
    at = ["--server", f.addresses[0]]
    (tmp_path / "token").write_text("s3cret\nsecond line\n")
    cuzk("metrics", *at, code=64)
    assert "authorization" in cuzk.err
    cuzk("metrics", *at, "--token-file", tmp_path / "token")
    cuzk("metrics", *at, env={**os.environ, "CUZK_TOKEN": "s3cret"})
    cuzk("metrics", *at, env={**os.environ, "CUZK_TOKEN": "wrong"}, code=64)
    (tmp_path / "empty").write_text("\n")
    cuzk("metrics", *at, "--token-file", tmp_path / "empty", code=2)
    f.until(lambda s: s["token"] == 2)


@pytest.mark.parametrize("terminal", [False, True])
def test_await_survives_a_restart(fake, cuzk, script, tmp_path, terminal):
    listen = [f"unix://{tmp_path}/s"]
    first = fake(listen=listen)
    cuzk("submit", script("hang"), "--request-id", "h", "--server", listen[0])
    master, slave = pty.openpty()
    p = subprocess.Popen(  # pylint: disable=consider-using-with
        [cuzk.path, "await", "h", "--server", listen[0]], stdout=subprocess.PIPE, stderr=slave if terminal else subprocess.PIPE, text=True
    )
    first.until(lambda s: s["watches"] >= 1)
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    time.sleep(1.5)
    second = fake("--preset", "h", listen=listen)
    out, err = p.communicate(timeout=30)
    os.close(slave)
    said = os.read(master, 65536).decode() if terminal else err
    os.close(master)
    assert p.returncode == 0 and "job h: completed" in out
    assert "the job is kept, waiting for the daemon" in said
    second.stop()


def test_live_view_draws_and_ends_with_ctrl_c(run, script):
    run("submit", script("sleep:20000"), "--request-id", "long")
    master, slave = pty.openpty()
    p = subprocess.Popen([run.path, "status", "--watch", "--interval", "100ms"], stdout=slave, stderr=slave, env=run.env)  # pylint: disable=consider-using-with
    os.close(slave)
    seen = b""

    def read():
        nonlocal seen
        try:
            while part := os.read(master, 65536):
                seen += part
        except OSError:
            pass

    reader = threading.Thread(target=read)
    reader.start()
    end = time.monotonic() + 20
    while seen.count(b"\x1b[H") < 3 and time.monotonic() < end:
        time.sleep(0.05)
    p.send_signal(signal.SIGINT)
    assert p.wait(timeout=20) == 0
    reader.join(timeout=20)
    os.close(master)
    assert seen.count(b"\x1b[H") >= 3 and b"long" in seen and b"[" + b"." * 24 + b"]" in seen.replace(b"#", b".")
    run("cancel", "long")


def test_interrupt_ends_a_wait(run, script):
    run("submit", script("hang"), "--request-id", "h")
    p = subprocess.Popen([run.path, "await", "h"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=run.env)  # pylint: disable=consider-using-with
    time.sleep(0.7)
    p.send_signal(signal.SIGINT)
    assert p.wait(timeout=20) == 6
    run("cancel", "h")


def test_every_client_command_is_in_the_help(cuzk):
    text = cuzk("--help")
    for name in ["submit", "await", "status", "jobs", "cancel", "trace", "preload", "evict", "metrics"]:
        assert f"\n  {name} " in text
        assert "--server ADDR" in cuzk(name, "--help")
    assert "--concurrency N" in cuzk("bench", "e2e", "--help")
