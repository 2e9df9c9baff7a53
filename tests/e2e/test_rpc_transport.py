"""gRPC as clients not written here see it: limits, loads, and clients that misbehave."""
import contextlib
import hashlib
import os
import random
import signal
import threading
import time

import grpc
import pytest
from rpc_fixtures import fake, pb  # noqa: F401
from rpc_kit import DATA, END_HEADERS, END_STREAM, GOAWAY, PREFACE, RST_STREAM, SERVICE, SETTINGS, Api, frame, headers, hello, literal, message, read_until_closed

Code = grpc.StatusCode


def refused(code, call, *args, **kw):
    with pytest.raises(grpc.RpcError) as e:
        call(*args, **kw)
    assert e.value.code() == code, e.value
    return e.value


# ---- bodies ----


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "unix"])
def test_60_mb_requests_are_copied_at_most_twice(fake, pb, tmp_path, listen):
    size = 60 << 20
    f = fake("--max-bodies", 1, listen=[f"unix://{tmp_path}/s" if listen == "unix" else listen])
    api = Api(f.channel(), pb)
    api.prove("warm up")
    before = f.rss()
    big = random.Random(1).randbytes(size)
    for _ in range(2):
        result = api.prove(big)
        assert result.status == 1 and result.proof[:64] == hashlib.blake2b(big).digest()
    peak = f.rss("VmHWM") - before
    assert peak < 2.25 * size, f"{peak >> 20} MiB more than before for a message of {size >> 20} MiB"
    f.until(lambda s: s["live"] == 0 and s["reserved"] == 0)


def test_proofs_of_a_list_arrive_in_order(fake, pb):
    api = Api(fake().channel(), pb)
    parts = [os.urandom(25000) for _ in range(500)]
    result = api.prove("", vanilla_proofs=parts, proof_kind=3)
    assert result.proof[:64] == hashlib.blake2b(b"".join(parts)).digest()


def test_messages_over_the_limit(fake, pb):
    f = fake("--max-message-bytes", 1 << 20)
    api = Api(f.channel(), pb)
    assert api.prove(b"x" * ((1 << 20) - 100)).status == 1
    assert refused(Code.RESOURCE_EXHAUSTED, api.prove, b"x" * (1 << 20))
    assert api.prove("still there").status == 1
    f.until(lambda s: s["live"] == 0 and s["reserved"] == 0)


def test_small_methods_take_small_messages_only(fake, pb):
    api = Api(fake().channel(), pb)
    e = refused(Code.INVALID_ARGUMENT, api.raw, "GetStatus", b"\xa2\x06" + b"\xf0\xa2\x04" + b"x" * 70000)
    assert "at most 65536 bytes" in e.details()


def test_compressed_messages_are_refused(fake, pb):
    f = fake()
    api = Api(f.channel(), pb)
    m = f.channel().unary_unary(SERVICE + "SubmitProof")
    with pytest.raises(grpc.RpcError) as e:
        m(api.request("x" * 1000).SerializeToString(), compression=grpc.Compression.Gzip, timeout=20)
    assert e.value.code() == Code.UNIMPLEMENTED


# ---- what is wrong is said ----


def test_malformed_messages_and_bad_texts(fake, pb):
    f = fake()
    api = Api(f.channel(), pb)
    for method in ["SubmitProof", "Prove", "AwaitProof", "CancelProof", "GetStatus", "PreloadSRS", "EvictSRS", "ListJobs", "GetTimeline", "WatchJob", "GetMetrics"]:
        for junk in [b"\xff", b"\x0a\xff", b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", b"\x07"]:
            refused(Code.INVALID_ARGUMENT, api.raw, method, junk)
    for method in ["AwaitProof", "CancelProof", "PreloadSRS", "GetTimeline", "WatchJob"]:
        assert "UTF-8" in refused(Code.INVALID_ARGUMENT, api.raw, method, b"\x0a\x02\xc3\x28").details()
    assert "request_id" in refused(Code.INVALID_ARGUMENT, api.raw, "SubmitProof", b"\x0a\x02\xc3\x28\x10\x01").details()
    assert "missing submit field" in refused(Code.INVALID_ARGUMENT, api.raw, "Prove", b"").details()
    assert "invalid proof_kind: 0" in refused(Code.INVALID_ARGUMENT, api.raw, "SubmitProof", b"").details()
    assert "unknown method /cuzk.v1.ProvingEngine/Nope" in refused(Code.UNIMPLEMENTED, api.raw, "Nope").details()
    refused(Code.UNIMPLEMENTED, api.raw, "/other.Service/Nope")
    f.until(lambda s: s["live"] == 0 and s["reserved"] == 0 and s["submissions"] == 0)


def test_overload_carries_a_hint(fake, pb):
    e = refused(Code.RESOURCE_EXHAUSTED, Api(fake().channel(), pb).submit, "busy:1250")
    trailers = dict(e.trailing_metadata())
    assert trailers["grpc-retry-pushback-ms"] == "1250" and "retry after 1250 ms" in e.details()
    assert b"google.rpc.RetryInfo" in trailers["grpc-status-details-bin"]


def test_metadata_and_calls_are_limited(fake, pb):
    f = fake("--max-metadata-bytes", 4096, "--max-calls", 50)
    api = Api(f.channel(), pb)
    assert api.raw("GetMetrics", metadata=[("x", "y" * 3000)])
    for k in range(20):
        refused(Code.RESOURCE_EXHAUSTED, api.raw, "GetMetrics", metadata=[("x", "y" * (5000 + 3000 * k))])
    with pytest.raises(grpc.RpcError):
        Api(f.channel(), pb).raw("GetMetrics", metadata=[("x", "y" * 300000)])
    api.submit("hang", request_id="h")
    channels = [Api(f.channel(), pb) for _ in range(4)]
    waits = [c.wait_later("h") for c in channels for _ in range(20)]
    f.until(lambda s: s["watches"] + s["busy"] >= 80)
    assert 40 <= f.stats()["watches"] <= 50
    for w in waits:
        w.cancel()
    f.until(lambda s: s["live"] == 0)
    api.cancel("h")


# ---- waits ----


def test_1000_waits_need_no_threads(fake, pb):
    f = fake()
    api = Api(f.channel(), pb)
    api.submit("hang", request_id="h")
    waits = [api.wait_later("h") for _ in range(1200)]
    f.until(lambda s: s["watches"] == 1200)
    assert f.stats()["threads"] <= 32
    t = time.monotonic()
    assert api.prove("beside them").status == 1
    assert time.monotonic() - t < 5
    api.cancel("h")
    assert all(w.result(timeout=30).status == 3 for w in waits)
    f.until(lambda s: s["live"] == 0 and s["watches"] == 0)


def test_clients_that_leave_are_noticed(fake, pb):
    f = fake()
    api = Api(f.channel(), pb)
    api.submit("hang", request_id="h")
    waits = [api.wait_later("h") for _ in range(300)] + [api.prove_later("hang", request_id="h") for _ in range(100)]
    watches = [api.watch("h") for _ in range(50)]
    f.until(lambda s: s["watches"] == 450)
    for w in waits + watches:
        w.cancel()
    f.until(lambda s: s["watches"] == 0 and s["live"] == 0)
    gone = [Api(f.channel(), pb) for _ in range(5)]
    waits = [c.wait_later("h") for c in gone for _ in range(10)]
    f.until(lambda s: s["watches"] == 50)
    for c in gone:
        c.c.close()
    f.until(lambda s: s["watches"] == 0 and s["live"] == 0)
    assert api.cancel("h").was_running, "the job itself goes on"


def test_calls_cancelled_on_their_way_in_leave_nothing(fake, pb):
    f = fake("--max-bodies", 2)
    rng = random.Random(5)
    channels = [Api(f.channel(), pb) for _ in range(4)]
    body = channels[0].request("x" * 30000).SerializeToString()
    for _ in range(5):
        calls = [rng.choice(channels).c.unary_unary(SERVICE + rng.choice(["SubmitProof", "Prove", "AwaitProof"])).future(body) for _ in range(200)]
        for c in rng.sample(calls, 150):
            c.cancel()
        for c in calls:
            c.code()
    f.until(lambda s: s["live"] == 0 and s["reserved"] == 0 and s["bodies"] == 0 and s["waiting"] == 0 and s["watches"] == 0)
    assert channels[0].prove("still there").status == 1


def test_deadlines_end_waits_also_without_the_client(fake, pb):
    f = fake()
    api = Api(f.channel(), pb)
    api.submit("hang", request_id="h")
    t = time.monotonic()
    refused(Code.DEADLINE_EXCEEDED, api.wait, "h", timeout=0.4)
    assert 0.3 < time.monotonic() - t < 5
    s = f.tcp()
    body = message(pb.AwaitProofRequest(job_id="h").SerializeToString())
    s.sendall(hello() + headers(SERVICE + "AwaitProof", 1, more=[("grpc-timeout", "400m")]) + frame(DATA, END_STREAM, 1, body))
    f.until(lambda s: s["watches"] == 1)
    f.until(lambda s: s["watches"] == 0 and s["live"] == 0)
    s.close()
    api.cancel("h")


def test_timeout_ms_is_honoured(fake, pb):
    api = Api(fake().channel(), pb)
    api.submit("sleep:900", request_id="s")
    t = time.monotonic()
    r = api.wait("s", timeout_ms=200)
    assert r.status == 4 and r.job_id == "s" and not r.proof and 0.2 <= time.monotonic() - t < 0.9
    assert "proving" in r.error_message
    assert api.wait("s", timeout_ms=30000).status == 1


def test_a_slow_watcher_gets_less_not_late(fake, pb):
    api = Api(fake().channel(), pb)
    api.submit("sleep:1500", request_id="s")
    seen = []
    for m in api.watch("s"):
        seen.append(m.job.progress)
        time.sleep(0.3)
    assert seen == sorted(seen) and seen[-1] == 1 and len(seen) <= 17


# ---- clients that misbehave ----


def test_junk_on_the_wire_closes_only_its_connection(fake, pb):
    f = fake()
    api = Api(f.channel(), pb)
    rng = random.Random(7)
    path = SERVICE + "SubmitProof"
    attacks = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        PREFACE + b"\xff" * 100,
        hello() + frame(SETTINGS, 0, 0, b"\x00\x05\xff\xff\xff\xff"),
        hello() + frame(SETTINGS, 0, 0, b"\x00"),
        hello() + frame(1, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff\xff\xff"),
        hello() + frame(1, END_HEADERS, 0, b""),
        hello() + frame(1, END_HEADERS, 2, b"\x82"),
        hello() + frame(9, 0, 1, b"x"),
        hello() + frame(DATA, 0, 1, b"x"),
        hello() + headers(path, 1) + frame(DATA, END_STREAM, 1, b"\x02\x00\x00\x00\x01x"),
        hello() + headers(path, 1) + frame(DATA, END_STREAM, 1, b"\x00\xff\xff\xff\xff" + b"x" * 100),
        hello() + headers(path, 1, END_HEADERS | END_STREAM),
        hello() + frame(1, END_HEADERS, 1, literal(":method", "GET") + literal(":path", path)),
        hello() + headers(path, 1, more=[("x-bin", "!!!not base64!!!")]),
        hello() + frame(8, 0, 0, b"\x7f\xff\xff\xff") + frame(8, 0, 0, b"\x7f\xff\xff\xff"),
        hello() + frame(GOAWAY, 0, 0, b"\0" * 8),
    ]
    attacks += [rng.randbytes(rng.randrange(1, 400)) for _ in range(60)]
    attacks += [hello() + rng.randbytes(rng.randrange(1, 400)) for _ in range(60)]
    for k, data in enumerate(attacks):
        s = f.tcp()
        try:
            s.sendall(data)
            s.shutdown(1)
        except OSError:
            pass  # closed already
        try:
            read_until_closed(s, 20)
        except AssertionError as e:
            raise AssertionError(f"attack {k}: {data[:60]!r}") from e
        s.close()
        if k % 20 == 0:
            assert api.prove("still there").status == 1
    f.until(lambda s: s["live"] == 0 and s["reserved"] == 0)


def test_slow_senders_do_not_keep_others_out(fake, pb):
    f = fake("--max-bodies", 4, "--body-timeout-ms", 15000)
    slow = []
    for _ in range(12):
        s = f.tcp()
        s.sendall(hello() + headers(SERVICE + "SubmitProof", 1) + frame(DATA, 0, 1, b"\x00\x00\x10\x00\x00" + b"x" * 100))
        slow.append(s)
    f.until(lambda s: s["bodies"] == 4 and s["waiting"] == 8)
    t = time.monotonic()
    assert Api(f.channel(), pb).prove("in a hurry").status == 1
    waited = time.monotonic() - t
    assert waited < 10, f"waited {waited:.1f} s behind 12 clients that never finish"
    f.until(lambda s: s["live"] == 0 and s["bodies"] == 0 and s["reserved"] == 0, 60)
    for s in slow:
        s.close()


def test_half_open_and_silent_clients_are_dropped(fake, pb):
    f = fake("--keepalive-ms", 1000, "--keepalive-timeout-ms", 1000)
    silent = [f.tcp() for _ in range(20)]
    for k, s in enumerate(silent):
        s.sendall(b"" if k % 3 == 0 else PREFACE if k % 3 == 1 else hello() + headers(SERVICE + "GetStatus", 1))
    assert Api(f.channel(), pb).prove("beside them").status == 1
    for s in silent:
        read_until_closed(s, 30)
        s.close()
    f.until(lambda s: s["live"] == 0)


def test_streams_opened_and_reset_leave_nothing(fake, pb):
    f = fake()
    s = f.tcp()
    s.sendall(hello())

    def drain():
        with contextlib.suppress(OSError):
            while s.recv(65536):
                pass

    threading.Thread(target=drain, daemon=True).start()
    try:
        for k in range(3000):
            stream = 2 * k + 1
            s.sendall(headers(SERVICE + "AwaitProof", stream) + frame(RST_STREAM, 0, stream, b"\0\0\0\x08"))
    except OSError:
        pass  # it may have had enough of this client
    assert Api(f.channel(), pb).prove("beside it").status == 1
    s.close()
    f.until(lambda s: s["live"] == 0 and s["reserved"] == 0)


def test_flood_of_invalid_requests_leaves_memory_flat(fake, pb):
    f = fake()
    api = Api(f.channel(), pb)
    bodies = [api.request("invalid:no").SerializeToString(), b"\xff" * 50, b"", api.request(b"invalid:" + b"x" * 20000).SerializeToString()]

    def flood(n):
        futures = [api.c.unary_unary(SERVICE + "SubmitProof").future(bodies[k % len(bodies)]) for k in range(n)]
        for x in futures:
            assert x.code() == Code.INVALID_ARGUMENT

    for _ in range(4):
        flood(500)
    f.until(lambda s: s["live"] == 0 and s["reserved"] == 0)
    before, heap = f.rss(), f.stats()["live_bytes"]
    for _ in range(12):
        flood(500)
    f.until(lambda s: s["live"] == 0 and s["reserved"] == 0)
    assert abs(f.stats()["live_bytes"] - heap) < 100000
    assert f.rss() - before < 12 << 20


# ---- descriptors, connections, sockets ----


def test_listener_survives_running_out_of_descriptors(fake, pb):
    f = fake(nofile=64)
    many = []
    for _ in range(90):
        s = f.tcp()
        s.sendall(hello())
        many.append(s)
    f.until(lambda s: s["refused"] > 0)
    for s in many:
        s.close()
    time.sleep(0.5)
    assert Api(f.channel(), pb).prove("after the rush").status == 1


def test_connections_are_limited(fake, pb):
    f = fake("--max-connections", 10)
    many = [f.tcp() for _ in range(30)]
    f.until(lambda s: s["accepted"] == 10 and s["refused"] == 20)
    for s in many:
        s.close()
    time.sleep(0.5)
    assert Api(f.channel(), pb).prove("after the rush").status == 1


def test_a_second_server_does_not_steal_the_socket(fake, pb, tmp_path):
    listen = [f"unix://{tmp_path}/deep/er/s"]
    first = fake(listen=listen)
    second = fake(listen=listen)
    assert second.process.wait(timeout=20) == 1 and "in use by another process" in second.said()
    assert Api(first.channel(), pb).prove("mine").status == 1
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    third = fake(listen=listen)
    assert Api(third.channel(), pb).prove("inherited").status == 1
    third.stop()
    assert not (tmp_path / "deep/er/s").exists()


def test_socket_permissions(fake, tmp_path):
    fake("--socket-mode", "660", listen=[f"unix://{tmp_path}/s"])
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o660


def test_drain_lets_calls_end_and_ends_the_rest(fake, pb):
    f = fake("--drain-ms", 2500)
    api = Api(f.channel(), pb)
    api.submit("hang", request_id="h")
    short, endless = api.prove_later("sleep:1000"), api.wait_later("h")
    f.until(lambda s: s["watches"] == 2)
    f.ask("not-serving")
    e = refused(Code.UNAVAILABLE, api.submit, "new")
    assert "takes no new jobs" in e.details()
    t = time.monotonic()
    f.end_input()
    assert short.result(timeout=20).result.status == 1
    assert endless.code() == Code.UNAVAILABLE and "job h is kept" in endless.details()
    f.process.wait(timeout=20)
    assert 2 < time.monotonic() - t < 12
