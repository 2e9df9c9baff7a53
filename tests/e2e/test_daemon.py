"""The daemon through clients not written here: grpcio, and a Go client that makes only the calls existing clients make."""
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import grpc
import pytest
from daemon_fixtures import keys, make_daemon, messages, verify_post  # noqa: F401
from daemon_kit import (
    CANCELLED,
    COMPLETED,
    CRITICAL,
    SOURCE,
    TIMEOUT,
    Daemon,
    build_go_client,
    go_calls,
    porep_request,
    snap_request,
    window_request,
    winning_request,
)


@pytest.fixture
def daemon(cuzk, messages, tmp_path, keys):
    with Daemon(cuzk, messages, tmp_path, keys) as d:
        yield d


def assert_times_add_up(a, wall_ms):
    assert a["queue_wait_ms"] + a["srs_load_ms"] + a["synthesis_ms"] + a["gpu_compute_ms"] <= a["total_ms"] + 4
    assert 0 < a["total_ms"] <= wall_ms + 4


def test_all_kinds_through_the_go_client(cuzk, messages, tmp_path, keys, tmp_path_factory):
    keys.need("PoRep 2KiB")
    keys.need("EmptySectorUpdate 2KiB")
    client = build_go_client(tmp_path_factory.mktemp("go"))
    calls = {"winning": winning_request(), "window": window_request(), "porep": porep_request(), "snap": snap_request()}
    with Daemon(cuzk, messages, tmp_path, keys) as d:
        answers = go_calls(client, d.address, calls)
        assert set(answers) == set(calls)
        for tag, a in answers.items():
            assert a["error"] == "" and a["status"] == "COMPLETED", f"{tag}: {a}"
            assert a["job_id"] == calls[tag]["request_id"]
            assert len(a["proof"]) > 0 and len(a["proof"]) % 192 == 0
            assert_times_add_up(a, a["wall_ms"])
        verify_post(cuzk, keys, calls["winning"], answers["winning"]["proof"], tmp_path)
        verify_post(cuzk, keys, calls["window"], answers["window"]["proof"], tmp_path)
        c1 = tmp_path / "c1.json"
        c1.write_bytes(calls["porep"]["vanilla_proof"])
        (tmp_path / "porep.bin").write_bytes(answers["porep"]["proof"])
        cuzk("verify", "--proof", tmp_path / "porep.bin", "--params", keys.path("PoRep 2KiB"), "--c1", c1)


def test_same_request_proves_once(daemon):
    first = daemon.submit(window_request())
    second = daemon.submit(window_request())
    assert second.existing and second.job_id == first.job_id
    one, two = daemon.wait(first.job_id), daemon.wait(first.job_id)
    assert one.status == COMPLETED and one.proof == two.proof
    assert daemon.metrics()["cuzk_proofs_completed_total"] == 1
    again = daemon.prove(window_request())
    assert again.proof == one.proof
    assert daemon.metrics()["cuzk_proofs_completed_total"] == 1


def test_one_id_with_two_contents_gives_two_right_answers(cuzk, daemon, keys, tmp_path):
    a, b = window_request("1sector"), window_request("3sectors")
    b["request_id"] = a["request_id"]
    first, second = daemon.submit(a), daemon.submit(b)
    assert first.job_id != second.job_id
    for request, job in ((a, first), (b, second)):
        done = daemon.wait(job.job_id)
        assert done.status == COMPLETED
        verify_post(cuzk, keys, request, done.proof, tmp_path)


def test_restart_keeps_results(cuzk, messages, tmp_path, keys):
    d = Daemon(cuzk, messages, tmp_path, keys)
    with d:
        job = d.submit(winning_request())
        proof = d.wait(job.job_id).proof
    with d:
        done = d.wait(job.job_id)
        assert done.status == COMPLETED and done.proof == proof
        assert d.submit(winning_request()).existing


def test_bad_input_is_refused_at_submit_with_the_field(daemon):
    for change, want in (
        ({"randomness": b"\0" * 31}, "randomness"),
        ({"vanilla_proofs": []}, "vanilla_proofs"),
        ({"registered_proof": 99}, "registered_proof"),
        ({"vanilla_proofs": [b"x" * 100]}, "vanilla_proofs[0]"),
        ({"proof_kind": 0}, "proof_kind"),
        ({"proof_kind": 9}, "proof_kind"),
    ):
        with pytest.raises(grpc.RpcError) as e:
            daemon.submit({**winning_request(), **change})
        assert e.value.code() == grpc.StatusCode.INVALID_ARGUMENT, change
        assert want in e.value.details(), e.value.details()
    bad = porep_request()
    bad["vanilla_proof"] = bad["vanilla_proof"][:1000]
    with pytest.raises(grpc.RpcError) as e:
        daemon.submit(bad)
    assert e.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "vanilla_proof: " in e.value.details(), e.value.details()


def test_circuit_without_key_can_never_run_here(daemon):
    with pytest.raises(grpc.RpcError) as e:
        daemon.submit(porep_request("4KiB-V1_1"))
    assert e.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert "params" in e.value.details()


def evicted(d, circuit):
    """False while a job still uses the key."""
    try:
        return d.call("EvictSRS", circuit_id=circuit).was_loaded
    except grpc.RpcError as e:
        assert e.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, e
        return False


def test_unknown_job(daemon):
    for name in ("AwaitProof", "CancelProof", "GetTimeline"):
        with pytest.raises(grpc.RpcError) as e:
            daemon.call(name, job_id="no-such-job")
        assert e.value.code() == grpc.StatusCode.NOT_FOUND


def test_await_timeout_and_cancel_while_working(cuzk, messages, tmp_path, keys):
    keys.need("PoRep 2KiB")
    with Daemon(cuzk, messages, tmp_path, keys) as d:
        before = d.proc()[0]
        job = d.submit(porep_request())
        assert d.call("AwaitProof", job_id=job.job_id, timeout_ms=50).status == TIMEOUT
        d.until(lambda: d.call("ListJobs").jobs[0].progress > 0.05, 120)
        assert d.call("CancelProof", job_id=job.job_id).was_running
        done = d.wait(job.job_id, timeout=5)
        assert done.status == CANCELLED
        assert not d.call("CancelProof", job_id=job.job_id).was_running
        d.until(lambda: evicted(d, "porep-2k"), 10)
        d.until(lambda: d.proc()[0] < before + 300000, 30)
        urgent = d.prove(winning_request(), priority=CRITICAL)
        assert urgent.status == COMPLETED


def test_http_answers(daemon):
    job = daemon.submit(window_request())
    daemon.wait(job.job_id)
    get = lambda path: urllib.request.urlopen(daemon.url + path, timeout=10).read().decode()  # noqa: E731
    assert get("healthz") and get("readyz")
    assert "cuzk_proofs_completed_total 1" in get("metrics")
    assert json.loads(get("status"))["counters"]["total_completed"] == 1
    assert json.loads(get("api/jobs"))["jobs"][0]["job_id"] == job.job_id
    spans = json.loads(get(f"api/jobs/{job.job_id}/timeline"))["spans"]
    names = {s["name"] for s in spans}
    assert {"decode", "witness", "verify"} <= names, names
    assert "<html" in get("")


def test_packaged_configuration_is_the_default_one(cuzk, tmp_path):
    """packaging/cuzk.toml has every key with its default; what it prints it also reads."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("CUZK_")}
    packaged = SOURCE / "packaging/cuzk.toml"
    assert cuzk("daemon", "--print-config", "--config", "/dev/null", env=env) == packaged.read_text()
    env |= {"CUZK_SRS_PARAM_CACHE": str(tmp_path), "CUZK_DAEMON_STATE_DIR": str(tmp_path)}
    assert "configuration is good (0 warnings)" in cuzk("daemon", "--check-config", "--config", packaged, env=env)


def test_configuration_errors_end_the_daemon_at_once(cuzk, tmp_path):
    config = tmp_path / "cuzk.toml"
    config.write_text('[daemon]\nlitsen = "127.0.0.1:0"\n')
    for args in (["daemon", "--config", config], ["--config", config], ["-c", config], ["daemon", "--check-config", "--config", config]):
        cuzk(*args, code=2)
        assert "did you mean daemon.listen?" in cuzk.err, cuzk.err


def test_check_config_finds_what_start_would(cuzk, tmp_path):
    """Without opening a port: what cannot be is an error, what may come later a warning."""
    config = tmp_path / "cuzk.toml"
    for text, want in (
        ('[daemon]\nlisten = "9820"\n', "daemon.listen"),
        ('[daemon]\nauth_token_file = "/nonexistent/token"\n', "daemon.auth_token_file"),
        ('[srs]\npreload = ["porep-3g"]\n', "srs.preload: unknown circuit ID: porep-3g"),
        ('[gpus]\ndevices = ["gpu0"]\n', "gpus.devices"),
    ):
        config.write_text(text)
        checked = [cuzk("daemon", "--check-config", "--config", config, code=None), cuzk.last_code, cuzk.err]
        cuzk("daemon", "--config", config, code=checked[1])
        assert checked[1] in (2, 5) and want in checked[2] and want in cuzk.err, cuzk.err
    config.write_text(
        f'[daemon]\nlisten = "0.0.0.0:0"\nstate_dir = "{tmp_path}"\n[srs]\nparam_cache = "{tmp_path}"\npreload = ["winning-2k"]\n'
        '[logging]\nlevel = "info,cuzk_core=debug"\n'
    )
    assert "configuration is good (3 warnings)" in cuzk("daemon", "--check-config", "--config", config)
    for want in ("taken as info", "no token", "srs.preload: winning-2k: v28-"):
        assert want in cuzk.err, cuzk.err


def test_unknown_circuits_are_bad_input(cuzk, daemon):
    for name in ("PreloadSRS", "EvictSRS"):
        with pytest.raises(grpc.RpcError) as e:
            daemon.call(name, circuit_id="porep-3k")
        assert e.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert "porep-3k" in e.value.details()
    cuzk("preload", "porep-3k", "--server", daemon.address, code=2)
    cuzk("evict", "porep-3k", "--server", daemon.address, code=2)


def http_code(url, token=None):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=10) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def test_token_and_tls_from_the_configuration(cuzk, make_daemon, tmp_path):
    token, cert, key = tmp_path / "token", tmp_path / "server.crt", tmp_path / "server.key"
    token.write_text("the-right-token-0123\n")
    token.chmod(0o600)
    req = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    req += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert]
    subprocess.run(["openssl", *map(str, req)], check=True, capture_output=True)
    env = {"CUZK_DAEMON_LISTEN": "", "CUZK_DAEMON_TLS_LISTEN": "127.0.0.1:0", "CUZK_DAEMON_TLS_CERT": str(cert)}
    env |= {"CUZK_DAEMON_TLS_KEY": str(key), "CUZK_DAEMON_AUTH_TOKEN_FILE": str(token)}
    with make_daemon(env=env) as d:
        with grpc.secure_channel(d.address, grpc.ssl_channel_credentials(cert.read_bytes())) as channel:
            call = channel.unary_unary("/cuzk.v1.ProvingEngine/GetStatus", response_deserializer=d.pb.GetStatusResponse.FromString)
            ask = lambda *m: call(b"", timeout=20, metadata=m)  # noqa: E731
            assert ask(("authorization", "Bearer the-right-token-0123")).uptime_seconds >= 0
            for wrong in ((), (("authorization", "Bearer the-wrong-token-0123"),)):
                with pytest.raises(grpc.RpcError) as e:
                    ask(*wrong)
                assert e.value.code() == grpc.StatusCode.UNAUTHENTICATED
            server = ["--server", d.address, "--tls", "--tls-ca", cert]
            assert cuzk.json("status", *server, "--token-file", token)["ready"]
            cuzk("status", "--server", d.address, "--token-file", token, code=5)  # no TLS
            assert http_code(d.url + "status")[0] == http_code(d.url + "status", "the-wrong-token-0123")[0] == 401
            assert http_code(d.url + "status", "the-right-token-0123")[0] == http_code(d.url + "readyz")[0] == 200
            token.write_text("another-token-0123456\n")
            d.process.send_signal(signal.SIGHUP)
            d.until(lambda: "reloaded" in d.log_text(), 20)
            assert "config_needs_restart keys=daemon.auth_token_file" in d.log_text().replace('"', "")
            assert ask(("authorization", "Bearer the-right-token-0123")).uptime_seconds >= 0


class Systemd:
    """The other end of sd_notify."""

    def __init__(self, folder):
        self.path = folder / "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.heard = []

    def until(self, want, seconds):
        self.socket.settimeout(seconds)
        while not any(want in text for text in self.heard):
            self.heard.append(self.socket.recv(4096).decode())


def test_systemd_hears_ready_watchdog_and_stopping(make_daemon, tmp_path):
    systemd = Systemd(tmp_path)
    with make_daemon(env={"NOTIFY_SOCKET": str(systemd.path), "WATCHDOG_USEC": "3000000"}) as d:
        systemd.until("READY=1\nSTATUS=serving", 20)
        for _ in range(2):
            systemd.until("WATCHDOG=1", 10)
            systemd.heard.clear()
        d.process.send_signal(signal.SIGHUP)
        systemd.until("RELOADING=1", 10)
        systemd.until("READY=1", 10)
    systemd.until("STOPPING=1", 10)
    systemd.socket.close()


def test_a_missing_key_of_a_preload_keeps_it_from_being_ready(make_daemon, keys, tmp_path):
    """Until the file appears: the daemon looks again every 30 s."""
    systemd, cache, key = Systemd(tmp_path), tmp_path / "params", keys.path("WinningPoSt 2KiB")
    cache.mkdir()
    env = {"CUZK_SRS_PRELOAD": "winning-2k", "CUZK_SRS_PARAM_CACHE": str(cache), "NOTIFY_SOCKET": str(systemd.path)}
    d = make_daemon(env=env).start(ready=False)
    systemd.until("READY=1\nSTATUS=not ready", 30)  # it answers, and a restart would not help
    code, text = http_code(d.url + "readyz")
    assert code == 503 and "winning-2k: " in text and ".params" in text, text
    status = json.loads(http_code(d.url + "status")[1])
    assert not status["ready"] and status["preloads"][0]["circuit_id"] == "winning-2k"
    assert ".params" in status["preloads"][0]["error"]
    assert d.metrics()['cuzk_preload_failed{circuit_id="winning-2k"}'] == 1
    shutil.copy(key, cache / "new")
    (cache / "new").rename(cache / key.name)
    d.until(lambda: http_code(d.url + "readyz")[0] == 200, 60)
    assert d.metrics()['cuzk_preload_ready{circuit_id="winning-2k"}'] == 1
    assert d.metrics()['cuzk_preload_failed{circuit_id="winning-2k"}'] == 0
    systemd.until("STATUS=serving", 10)
    assert d.prove(winning_request()).status == COMPLETED
    d.stop()
    systemd.socket.close()


def test_proofs_differ_between_jobs(daemon):
    """r and s are fresh: the same statement proven twice gives other bytes."""
    a = daemon.prove(winning_request())
    b = daemon.prove({**winning_request(), "request_id": "another"})
    assert a.status == b.status == COMPLETED
    assert hashlib.sha256(a.proof).digest() != hashlib.sha256(b.proof).digest()
