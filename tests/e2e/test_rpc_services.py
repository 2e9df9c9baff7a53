"""Token, TLS, health and reflection."""
import pathlib
import queue
import subprocess
import sys
import time

import grpc
import pytest
from daemon_kit import SOURCE, generate_messages
from rpc_fixtures import fake  # noqa: F401
from rpc_kit import DATA, END_STREAM, GOAWAY, HEADERS, PREFACE, SETTINGS, WINDOW_UPDATE, Api, frame, headers, message

Code = grpc.StatusCode


@pytest.fixture(scope="module")
def pb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pb")
    made = generate_messages(folder)
    for p in ["grpc/health/v1/health", "grpc/reflection/v1/reflection"]:
        # Under names of their own: the package grpc is taken.
        (folder / f"{pathlib.Path(p).name}_copy.proto").write_text((SOURCE / "proto" / f"{p}.proto").read_text())
        subprocess.run(["protoc", f"-I{folder}", f"--python_out={folder}", f"{pathlib.Path(p).name}_copy.proto"], check=True)
    return made


def code_of(call, *args, **kw):
    try:
        call(*args, **kw)
        return Code.OK
    except grpc.RpcError as e:
        return e.code()


# ---- token ----


def test_token_is_asked_before_the_body_is_read(fake, pb, tmp_path):
    f = fake("--token", "s3cret", listen=["127.0.0.1:0", f"unix://{tmp_path}/s"])
    api, local = Api(f.channel(), pb), Api(f.channel(1), pb)
    before = f.rss()
    m = api.c.unary_unary("/cuzk.v1.ProvingEngine/SubmitProof")
    big = api.request(b"x" * (60 << 20)).SerializeToString()
    for metadata in [None, [("authorization", "Bearer wrong")], [("authorization", "s3cret")], [("authorization", "bearer")]]:
        assert code_of(m, big, metadata=metadata, timeout=30) == Code.UNAUTHENTICATED
    assert f.rss("VmHWM") - before < 45 << 20, "a refused body was taken in"
    good = [("authorization", "Bearer s3cret")]
    assert api.c.unary_unary("/cuzk.v1.ProvingEngine/GetMetrics")(b"", metadata=good, timeout=20)
    assert local.prove("over the unix socket").status == 1
    assert api.c.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=20) == b"\x08\x01", "probes need no token"
    reflect = api.c.stream_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
    assert code_of(lambda: list(reflect(iter([b"\x3a\x00"]), timeout=20))) == Code.UNAUTHENTICATED


def test_the_scheme_of_a_token_compares_without_case(fake):
    call = fake("--token", "secret").channel().unary_unary("/cuzk.v1.ProvingEngine/GetMetrics")
    for header, code in [("Bearer secret", Code.OK), ("bearer secret", Code.OK), ("BEARER secret", Code.OK), ("bearer Secret", Code.UNAUTHENTICATED)]:
        assert code_of(call, b"", metadata=[("authorization", header)], timeout=20) == code, header


# ---- status ----


def test_a_device_has_number_model_and_name(fake, pb):
    call = fake().channel().unary_unary("/cuzk.v1.ProvingEngine/GetStatus", response_deserializer=pb.GetStatusResponse.FromString)
    gpu = call(b"", timeout=20).gpus[0]
    assert (gpu.ordinal, gpu.name, gpu.device) == (3, "A model", "fake:3")


# ---- TLS ----


class Certificates:
    def __init__(self, folder):
        self.folder = folder
        self.make("ca", None)

    def path(self, name):
        return self.folder / name

    def openssl(self, *args):
        subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)

    def make(self, name, issuer, cn="localhost"):
        key, cert, request = (self.path(f"{name}.{x}") for x in ("key", "crt", "csr"))
        self.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
        if issuer is None:
            self.openssl("req", "-x509", "-new", "-key", key, "-subj", f"/CN=ca-{name}", "-days", "2", "-out", cert)
            return
        extension = self.path("ext")
        extension.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self.openssl("req", "-new", "-key", key, "-subj", f"/CN={cn}", "-out", request)
        self.openssl("x509", "-req", "-in", request, "-CA", self.path(f"{issuer}.crt"), "-CAkey", self.path(f"{issuer}.key"),
                     "-CAcreateserial", "-days", "2", "-extfile", extension, "-out", cert)  # fmt: skip

    def read(self, name):
        return self.path(name).read_bytes()


@pytest.fixture(scope="module")
def certs(tmp_path_factory):
    c = Certificates(tmp_path_factory.mktemp("certs"))
    c.make("server", "ca")
    c.make("client", "ca", "curio")
    c.make("otherca", None)
    c.make("stranger", "otherca", "stranger")
    return c


def tls_options(c, *more):
    return ["--tls-listen", "127.0.0.1:0", "--tls-cert", c.path("server.crt"), "--tls-key", c.path("server.key"), *more]


def try_prove(f, pb, credentials):
    api = Api(f.channel(1, credentials), pb)
    return code_of(api.prove, "x", timeout=20)


def test_tls_serves_and_mutual_tls_tells_clients_apart(fake, pb, certs):
    f = fake(*tls_options(certs))
    assert try_prove(f, pb, grpc.ssl_channel_credentials(certs.read("ca.crt"))) == Code.OK
    assert try_prove(f, pb, grpc.ssl_channel_credentials(certs.read("otherca.crt"))) == Code.UNAVAILABLE
    assert try_prove(f, pb, None) == Code.UNAVAILABLE, "no plain text on the TLS port"
    m = fake(*tls_options(certs, "--tls-client-ca", certs.path("ca.crt")))
    with_cert = grpc.ssl_channel_credentials(certs.read("ca.crt"), certs.read("client.key"), certs.read("client.crt"))
    stranger = grpc.ssl_channel_credentials(certs.read("ca.crt"), certs.read("stranger.key"), certs.read("stranger.crt"))
    assert try_prove(m, pb, with_cert) == Code.OK
    assert try_prove(m, pb, grpc.ssl_channel_credentials(certs.read("ca.crt"))) == Code.UNAVAILABLE
    assert try_prove(m, pb, stranger) == Code.UNAVAILABLE
    assert m.stats()["alive"] is True


def test_a_changed_certificate_is_taken_up(fake, pb, certs):
    f = fake(*tls_options(certs))
    ca = grpc.ssl_channel_credentials(certs.read("ca.crt"))
    other = grpc.ssl_channel_credentials(certs.read("otherca.crt"))
    assert try_prove(f, pb, ca) == Code.OK
    old_key, old_cert = certs.read("server.key"), certs.read("server.crt")
    try:
        certs.path("server.crt").write_bytes(b"-----BEGIN half a file")
        assert try_prove(f, pb, ca) == Code.OK, "a file being written is no reason to stop"
        certs.make("server", "otherca")
        time.sleep(0.1)
        assert try_prove(f, pb, other) == Code.OK
        assert try_prove(f, pb, ca) == Code.UNAVAILABLE
    finally:
        certs.path("server.key").write_bytes(old_key)
        certs.path("server.crt").write_bytes(old_cert)


def test_60_mb_over_tls(fake, pb, certs):
    f = fake(*tls_options(certs))
    api = Api(f.channel(1, grpc.ssl_channel_credentials(certs.read("ca.crt"))), pb)
    assert api.prove(b"x" * (60 << 20)).status == 1


def test_key_of_another_certificate_is_refused(fake, certs):
    options = tls_options(certs)
    options[5] = certs.path("client.key")
    f = fake(*options)
    assert f.process.wait(timeout=20) == 1
    assert "do not belong together" in f.said()


# ---- health ----


def test_health_check_and_watch(fake, pb):
    f = fake("--drain-ms", 20000)
    c = f.channel()
    check, watch = c.unary_unary("/grpc.health.v1.Health/Check"), c.unary_stream("/grpc.health.v1.Health/Watch")
    name = b"\x0a\x15cuzk.v1.ProvingEngine"
    assert check(b"", timeout=20) == check(name, timeout=20) == b"\x08\x01"
    assert code_of(check, b"\x0a\x01x", timeout=20) == Code.NOT_FOUND
    seen = queue.Queue()
    stream = watch(name)
    unknown = watch(b"\x0a\x01x")
    assert next(unknown) == b"\x08\x03"

    def step(command):
        f.ask(command)
        return next(stream)

    assert next(stream) == b"\x08\x01"
    assert step("not-serving") == b"\x08\x02" and check(b"", timeout=20) == b"\x08\x02"
    assert step("serving") == b"\x08\x01"
    f.end_input()
    assert code_of(lambda: [seen.put(x) for x in stream]) == Code.UNAVAILABLE
    assert seen.get(timeout=10) == b"\x08\x02"
    f.process.wait(timeout=20)


def frames(s):
    """What a server says on a connection: (kind, payload)."""
    with s.makefile("rb") as f:
        while head := f.read(9):
            yield head[3], f.read(int.from_bytes(head[:3], "big"))


def test_the_last_health_is_told_though_another_is_on_its_way(fake):
    """A client with room for two messages: the third waits while the server begins to end."""
    f = fake("--drain-ms", 20000)
    s = f.tcp()
    s.sendall(PREFACE + frame(SETTINGS, 0, 0, b"\0\4\0\0\0\x0e") + headers("/grpc.health.v1.Health/Watch", 1) + frame(DATA, END_STREAM, 1, message(b"")))
    for command in ["not-serving", "serving"]:
        time.sleep(0.3)  # each has left before the next; if not, they become one, and the last counts all the same
        f.ask(command)
    f.end_input()
    told = []
    for kind, payload in frames(s):
        if kind == GOAWAY:
            s.sendall(frame(WINDOW_UPDATE, 0, 1, b"\0\0\0\x64"))
        elif kind == DATA:
            told.append(payload[-1])
        elif kind == HEADERS and told and b"grpc-status" in payload:
            break
    assert told[-1] == 2, told
    s.close()
    f.process.wait(timeout=20)


# ---- reflection ----


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection_describes_every_service(fake, pb, version):
    import reflection_copy_pb2 as r  # pylint: disable=import-error,import-outside-toplevel
    from google.protobuf import descriptor_pb2, descriptor_pool  # pylint: disable=import-outside-toplevel

    assert sys.modules[pb.__name__] is pb
    c = fake().channel()
    call = c.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=lambda m: m.SerializeToString(),
        response_deserializer=r.ServerReflectionResponse.FromString,
    )

    def ask(**kw):
        return list(call(iter([r.ServerReflectionRequest(host="h", **kw)]), timeout=20))[0]

    services = [s.name for s in ask(list_services="").list_services_response.service]
    assert services == ["cuzk.v1.ProvingEngine", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"]
    pool = descriptor_pool.DescriptorPool()
    for s in services:
        answer = ask(file_containing_symbol=s)
        assert answer.valid_host == "h"
        data = answer.file_descriptor_response.file_descriptor_proto[0]
        file = descriptor_pb2.FileDescriptorProto.FromString(data)
        assert ask(file_by_filename=file.name).file_descriptor_response.file_descriptor_proto[0] == data
        pool.Add(file)
    methods = [m.name for m in pool.FindServiceByName("cuzk.v1.ProvingEngine").methods]
    assert methods[:8] == ["SubmitProof", "AwaitProof", "Prove", "CancelProof", "GetStatus", "GetMetrics", "PreloadSRS", "EvictSRS"]
    for symbol in ["cuzk.v1.SubmitProofRequest", "cuzk.v1.ProvingEngine.Prove", "cuzk.v1.ProofKind"]:
        assert ask(file_containing_symbol=symbol).file_descriptor_response.file_descriptor_proto
    for wrong in [{"file_containing_symbol": "cuzk.v1.Nope"}, {"file_containing_symbol": ""}, {"file_by_filename": "x.proto"}, {"all_extension_numbers_of_type": "x"}]:
        assert ask(**wrong).error_response.error_code == 5, wrong
    assert ask().error_response.error_code == 3
    many = [r.ServerReflectionRequest(list_services="") for _ in range(200)]
    assert len(list(call(iter(many), timeout=20))) == 200
