"""Clients that take what they can get: others are served beside them, and memory stays bounded."""
import contextlib
import threading
import time

import pytest
from rpc_fixtures import fake, pb  # noqa: F401
from rpc_kit import CONTINUATION, DATA, END_HEADERS, END_STREAM, PING, PREFACE, SERVICE, SETTINGS, WINDOW_UPDATE, Api, frame, headers, hello, literal, message


class Attacker:
    """A connection that sends what it is told to, whatever the server says; what it hears it forgets."""

    def __init__(self, fake, reads=True):
        self.socket = fake.tcp()
        if reads:
            threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        with contextlib.suppress(OSError):
            while self.socket.recv(65536):
                pass

    def send(self, parts):
        """False when the server had enough of it."""
        try:
            for part in parts:
                self.socket.sendall(part)
        except OSError:
            return False
        return True

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(2)
        self.socket.close()


def until_quiet(fake):
    fake.until(lambda s: s["live"] == 0 and s["reserved"] == 0 and s["bodies"] == 0 and s["waiting"] == 0 and s["watches"] == 0, 60)


@pytest.mark.parametrize("method", ["SubmitProof", "AwaitProof"])
def test_one_connection_leaves_room_for_others(fake, pb, method):
    """It never acknowledges the limit of streams, so gRPC's library does not hold it to that."""
    f = fake("--max-calls", 1200)
    api = Api(f.channel(), pb)
    api.prove("warm up")
    a = Attacker(f)
    a.send([hello()] + [headers(SERVICE + method, 2 * k + 1) for k in range(3000)])
    f.until(lambda s: s["busy"] > 100)
    for _ in range(10):
        assert api.raw("GetMetrics")
    a.close()
    until_quiet(f)
    assert api.prove("after it").status == 1


def test_answers_that_nobody_takes_are_dropped(fake, pb):
    f = fake("--max-calls", 1200, "--body-timeout-ms", 2000)
    api = Api(f.channel(), pb)
    a = Attacker(f)
    no_window = PREFACE + frame(SETTINGS, 0, 0, b"\0\4\0\0\0\0")
    a.send([no_window] + [headers(SERVICE + "GetMetrics", 2 * k + 1) + frame(DATA, END_STREAM, 2 * k + 1, message(b"")) for k in range(500)])
    f.until(lambda s: s["live"] > 100)
    assert api.raw("GetMetrics")
    until_quiet(f)
    assert a.send([frame(SETTINGS, 0, 0)]), "the connection itself goes on"
    a.close()


def test_watchers_that_never_read_hold_up_nobody(fake, pb):
    f = fake("--body-timeout-ms", 2000)
    api = Api(f.channel(), pb)
    api.submit("sleep:1500", request_id="s")
    a = Attacker(f, reads=False)
    body = message(pb.WatchJobRequest(job_id="s").SerializeToString())
    no_window = PREFACE + frame(SETTINGS, 0, 0, b"\0\4\0\0\0\0")
    a.send([no_window] + [headers(SERVICE + "WatchJob", 2 * k + 1) + frame(DATA, END_STREAM, 2 * k + 1, body) for k in range(200)])
    f.until(lambda s: s["watches"] == 200)
    begin = time.monotonic()
    assert [m.job.progress for m in api.watch("s")][-1] == 1
    assert api.wait("s").status == 1
    assert time.monotonic() - begin < 10
    until_quiet(f)
    a.close()


def test_a_thousand_cancelled_waits_leave_nothing(fake, pb):
    f = fake("--max-calls", 4096)
    api = Api(f.channel(), pb)
    api.submit("hang", request_id="h")
    for _ in range(2):
        waits = [api.wait_later("h") for _ in range(1000)]
        f.until(lambda s: s["watches"] == 1000)
        for w in waits:
            w.cancel()
        f.until(lambda s: s["watches"] == 0 and s["live"] == 0)
    assert f.stats()["threads"] <= 32
    assert api.cancel("h").was_running
    until_quiet(f)


def test_memory_of_headers_without_end_is_given_back(fake, pb):
    """While the client is there nothing bounds it; after it has hung up it must not stay."""
    f = fake()
    api = Api(f.channel(), pb)
    api.prove("warm up")
    before = f.rss()
    endless = frame(CONTINUATION, 0, 1, literal("x-a", "b" * 120) * 120)
    many = [Attacker(f) for _ in range(16)]
    threads = [threading.Thread(target=a.send, args=([hello() + headers(SERVICE + "SubmitProof", 1, 0)] + [endless] * 500,)) for a in many]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    time.sleep(0.5)
    held = f.rss() - before
    assert held > 100 << 20, "the flood was to take memory"
    for a in many:
        a.close()
    end = time.monotonic() + 40
    while f.rss() - before > held // 2 and time.monotonic() < end:
        time.sleep(0.2)
    assert f.rss() - before <= held // 2, f"{held >> 20} MiB, {f.rss() - before >> 20} MiB afterwards"
    assert api.prove("after it").status == 1


@pytest.mark.parametrize(
    "flood",
    [
        frame(SETTINGS, 0, 0, b"\0\3\0\0\0\x64"),
        frame(PING, 0, 0, b"12345678"),
        frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1"),
        frame(2, 0, 1, b"\0\0\0\3\x10"),
        frame(DATA, 0, 1),
        headers(SERVICE + "Nope", 1, END_HEADERS | END_STREAM),
    ],
    ids=["settings", "ping", "window", "priority", "empty data", "same stream"],
)
def test_floods_of_frames_hold_up_nobody(fake, pb, flood):
    f = fake()
    api = Api(f.channel(), pb)
    api.prove("warm up")
    before = f.rss()
    many = [Attacker(f, reads=k % 2 == 0) for k in range(4)]
    threads = [threading.Thread(target=a.send, args=([hello() + headers(SERVICE + "SubmitProof", 1)] + [flood * 500] * 60,), daemon=True) for a in many]
    for t in threads:
        t.start()
    begin = time.monotonic()
    assert api.prove("beside them").status == 1
    assert time.monotonic() - begin < 10
    for a in many:
        a.close()
    for t in threads:
        t.join()
    until_quiet(f)
    assert f.rss() - before < 250 << 20
