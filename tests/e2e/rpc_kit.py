"""The gRPC server around a pretending engine (tests/rpc), and clients that misbehave."""
import json
import os
import pathlib
import resource
import socket
import struct
import subprocess
import time

import grpc

SERVER = os.environ["CUZK_RPC_FAKE"]
SERVICE = "/cuzk.v1.ProvingEngine/"
OPTIONS = [("grpc.max_send_message_length", 300 << 20), ("grpc.max_receive_message_length", 300 << 20), ("grpc.enable_retries", 0)]


class Fake:
    """One server; a sanitizer report, a crash or a leak found by the engine fails the test at its end."""

    def __init__(self, folder, *args, nofile=None, listen=("127.0.0.1:0",)):
        self.log_path = pathlib.Path(folder) / "server.log"
        self.log = open(self.log_path, "ab")  # pylint: disable=consider-using-with
        options = [x for a in listen for x in ("--listen", a)] + [str(a) for a in args]
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))) if nofile else None
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            [SERVER, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, preexec_fn=limit
        )
        line = self.process.stdout.readline()
        self.addresses = json.loads(line)["addresses"] if line else []
        self.channels = []

    def said(self):
        return self.log_path.read_text(errors="replace")

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stats(self):
        return self.ask("stats")

    def until(self, true, seconds=20):
        end = time.monotonic() + seconds
        while not true(self.stats()):
            assert time.monotonic() < end, f"did not happen in {seconds} s: {self.stats()}"
            time.sleep(0.02)

    def rss(self, which="VmRSS"):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split(f"{which}:")[1].split()[0]) << 10

    def channel(self, idx=0, credentials=None, options=()):
        options = [*OPTIONS, *options, ("grpc.use_local_subchannel_pool", 1)]
        address = self.addresses[idx]
        made = grpc.secure_channel(address, credentials, options) if credentials else grpc.insecure_channel(address, options)
        self.channels.append(made)
        return made

    def tcp(self):
        host, port = self.addresses[0].rsplit(":", 1)
        s = socket.create_connection((host, int(port)))
        s.settimeout(30)
        return s

    def end_input(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()

    def stop(self, code=0):
        for c in self.channels:
            c.close()
        self.end_input()
        got = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.log.close()
        text = self.said()
        assert "Sanitizer" not in text and "runtime error" not in text, text
        assert got == code, f"exit {got}\n{text}"


class Api:
    """The calls of the service on one channel."""

    def __init__(self, channel, pb):
        self.c, self.pb = channel, pb

    def method(self, name, answer):
        return self.c.unary_unary(SERVICE + name, request_serializer=lambda m: m.SerializeToString(), response_deserializer=answer.FromString)

    def raw(self, name, data=b"", **kw):
        """A call with bytes of our own choice; the answer as bytes."""
        path = name if name.startswith("/") else SERVICE + name
        return self.c.unary_unary(path)(data, timeout=kw.pop("timeout", 60), **kw)

    def request(self, script, **fields):
        script = script if isinstance(script, bytes) else script.encode()
        return self.pb.SubmitProofRequest(**{"proof_kind": 1, "vanilla_proof": script, **fields})

    def submit(self, script, **fields):
        return self.method("SubmitProof", self.pb.SubmitProofResponse)(self.request(script, **fields), timeout=60)

    def prove(self, script, timeout=60, **fields):
        m = self.method("Prove", self.pb.ProveResponse)
        return m(self.pb.ProveRequest(submit=self.request(script, **fields)), timeout=timeout).result

    def prove_later(self, script, **fields):
        return self.method("Prove", self.pb.ProveResponse).future(self.pb.ProveRequest(submit=self.request(script, **fields)))

    def wait(self, job_id, timeout_ms=0, timeout=60):
        m = self.method("AwaitProof", self.pb.AwaitProofResponse)
        return m(self.pb.AwaitProofRequest(job_id=job_id, timeout_ms=timeout_ms), timeout=timeout)

    def wait_later(self, job_id, timeout=None):
        m = self.method("AwaitProof", self.pb.AwaitProofResponse)
        return m.future(self.pb.AwaitProofRequest(job_id=job_id), timeout=timeout)

    def cancel(self, job_id):
        return self.method("CancelProof", self.pb.CancelProofResponse)(self.pb.CancelProofRequest(job_id=job_id), timeout=60)

    def watch(self, job_id):
        m = self.c.unary_stream(SERVICE + "WatchJob", request_serializer=lambda m: m.SerializeToString(), response_deserializer=self.pb.WatchJobResponse.FromString)
        return m(self.pb.WatchJobRequest(job_id=job_id), timeout=60)


# ---- HTTP/2 by hand ----

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header field without indexing, no Huffman code; up to 126 bytes each."""
    name, value = name.encode(), value.encode()
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def headers(path, stream, flags=END_HEADERS, more=()):
    fields = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "x"), ("te", "trailers"), ("content-type", "application/grpc"), *more]
    return frame(HEADERS, flags, stream, b"".join(literal(n, v) for n, v in fields))


def hello():
    return PREFACE + frame(SETTINGS, 0, 0)


def message(data):
    return b"\0" + struct.pack(">I", len(data)) + data


def read_until_closed(s, seconds):
    """Everything the server says until it closes; fails when it does not."""
    end, got = time.monotonic() + seconds, b""
    while time.monotonic() < end:
        s.settimeout(max(0.05, end - time.monotonic()))
        try:
            part = s.recv(65536)
        except ConnectionResetError:
            return got
        except TimeoutError:
            break
        if not part:
            return got
        got += part
    raise AssertionError(f"still open after {seconds} s")
