"""A real daemon under test: keys, start and stop, clients in Python (grpcio) and Go."""
import base64
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import grpc
from conftest import GOLDEN, TOXIC, golden_bytes, sha256_file

SOURCE = pathlib.Path(os.environ["CUZK_SOURCE_DIR"])
MAX_MESSAGE = 256 << 20
POREP, SNAP, WINDOW, WINNING = 1, 2, 3, 4  # ProofKind
LOW, NORMAL, HIGH, CRITICAL = 1, 2, 3, 4  # Priority
COMPLETED, FAILED, CANCELLED, TIMEOUT = 1, 2, 3, 4  # AwaitProofResponse.Status


def count(usual, soak):
    """How often: the usual number, or the long run's (label soak)."""
    return soak if os.environ.get("CUZK_SOAK") == "1" else usual


def keep_result(name, **values):
    """A long run's figures go to bench/results."""
    if os.environ.get("CUZK_SOAK") == "1":
        path = SOURCE / "bench/results" / f"daemon_{name}.json"
        cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=SOURCE, capture_output=True, text=True, check=False).stdout.strip()
        about = {"test": name, "command": "make test-soak", "commit": commit, "machine": f"{os.cpu_count()} shared CPUs, {cpu[1] if cpu else 'unknown'}"}
        path.write_text(json.dumps({**about, **values}, indent=1) + "\n")


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(p / 100 * len(values)))]


def generate_messages(folder):
    """The protobuf module of our proto file, made by protoc."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["protoc", f"-I{SOURCE / 'proto'}", f"--python_out={folder}", "cuzk/v1/proving.proto"], check=True)
    sys.path.insert(0, str(folder))
    from cuzk.v1 import proving_pb2  # pylint: disable=import-error,import-outside-toplevel

    return proving_pb2


def build_go_client(folder):
    """The Go client against Debian's Go libraries: no network."""
    src = folder / "src"
    (src / "goclient").mkdir(parents=True, exist_ok=True)
    shutil.copy(SOURCE / "tests/e2e/goclient/main.go", src / "goclient")
    subprocess.run(["protoc", f"-I{SOURCE / 'proto'}", f"--go_out={src}", f"--go-grpc_out={src}", "cuzk/v1/proving.proto"], check=True)
    env = {**os.environ, "GO111MODULE": "off", "GOPATH": f"{folder}:/usr/share/gocode", "GOFLAGS": "", "GOCACHE": str(folder / "cache")}
    subprocess.run(["go", "build", "-o", str(folder / "client"), "goclient"], check=True, env=env, timeout=900)
    return folder / "client"


class Keys:
    """A parameter cache of development keys, made when first asked for and kept beside the binary."""

    def __init__(self, cuzk):
        self.cuzk = cuzk
        self.folder = pathlib.Path(cuzk.path).parent / "e2e-keys" / "cache"
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp = self.folder / "made-by"
        me = sha256_file(cuzk.path)
        if not stamp.exists() or stamp.read_text() != me:
            for old in self.folder.glob("v28-*"):
                old.unlink()
            stamp.write_text(me)

    def path(self, circuit):
        env = {**os.environ, "FIL_PROOFS_PARAMETER_CACHE": str(self.folder)}
        return pathlib.Path(self.cuzk("params", "path", "--circuit", circuit, env=env).strip())

    def need(self, circuit):
        path = self.path(circuit)
        if not path.exists():
            self.cuzk("params", "generate", "--circuit", circuit, "--test-toxic", TOXIC, "-o", path, timeout=1500)
        return path


class Daemon:
    """One daemon with its journal in `folder`; it can be killed and started again."""

    def __init__(self, cuzk, messages, folder, keys, config="", env=None):
        self.cuzk, self.pb, self.folder, self.keys = cuzk, messages, folder, keys
        self.env = {**os.environ, **(env or {})}
        self.config = folder / "cuzk.toml"
        self.config.write_text(
            f'[daemon]\nlisten = "127.0.0.1:0"\nstatus_listen = "127.0.0.1:0"\nstate_dir = "{folder}/state"\n'
            f'drain_timeout = "20s"\n[srs]\nparam_cache = "{keys.folder}"\n[gpus]\ndevices = ["cpu"]\n[memory]\n'
            f'safety_margin = "1GiB"\n{config}'
        )
        self.process = None

    def start(self, before_exec=None, ready=True):
        """ready: wait until it says so; else only until it answers."""
        self.log = open(self.folder / "log", "ab")  # pylint: disable=consider-using-with
        begin = self.log.tell()
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            [self.cuzk.path, "daemon", "--config", self.config],
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=self.env,
            preexec_fn=before_exec,
        )
        line = self.process.stdout.readline().decode()
        found = re.fullmatch(r"cuzk daemon: grpc=(\S+) http=(\S+)\n", line)
        assert found, f"said {line!r}\n{self.log_text()[-4000:]}"
        self.address, self.url = found[1], found[2]
        self.channel = grpc.insecure_channel(
            self.address, options=[("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)]
        )
        if not ready:
            return self
        self.until(lambda: " ready " in (self.folder / "log").read_bytes()[begin:].decode(errors="replace"), 60)
        return self

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def log_text(self):
        return (self.folder / "log").read_text(errors="replace")

    def stop(self, sig=signal.SIGTERM, code=0):
        if self.process is None:
            return
        self.channel.close()
        if self.process.poll() is None:
            self.process.send_signal(sig)
        got = self.process.wait(timeout=120)
        self.process.stdout.close()
        self.log.close()
        self.process = None
        assert got == (code if sig == signal.SIGTERM else -sig), f"exit {got}\n{self.log_text()[-4000:]}"
        assert "Sanitizer" not in self.log_text()

    def kill(self):
        self.stop(signal.SIGKILL)

    @staticmethod
    def until(true, seconds):
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, "did not happen in time"
            time.sleep(0.02)

    def method(self, name, stream=False):
        base = {"PreloadSRS": "PreloadSrs", "EvictSRS": "EvictSrs"}.get(name, name)
        reply = getattr(self.pb, base + "Response")
        make = self.channel.unary_stream if stream else self.channel.unary_unary
        return make(
            f"/cuzk.v1.ProvingEngine/{name}", request_serializer=lambda m: m.SerializeToString(), response_deserializer=reply.FromString
        )

    def call(self, name, timeout=600, **fields):
        base = {"PreloadSRS": "PreloadSrs", "EvictSRS": "EvictSrs"}.get(name, name)
        return self.method(name)(getattr(self.pb, base + "Request")(**fields), timeout=timeout)

    def submit(self, request, **fields):
        return self.call("SubmitProof", **{**request, **fields})

    def wait(self, job_id, timeout=600):
        return self.call("AwaitProof", timeout=timeout, job_id=job_id)

    def prove(self, request, timeout=900, **fields):
        submit = self.pb.SubmitProofRequest(**{**request, **fields})
        return self.method("Prove")(self.pb.ProveRequest(submit=submit), timeout=timeout).result

    def status(self):
        return json.loads(self.call("GetStatus", with_json=True).status_json)

    def metrics(self):
        """Name with labels -> value."""
        text = self.call("GetMetrics").prometheus_text
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line and line[0] != "#"}

    def proc(self):
        """(resident KiB, open descriptors, threads)."""
        root = pathlib.Path(f"/proc/{self.process.pid}")
        text = (root / "status").read_text()
        return (int(re.search(r"VmRSS:\s+(\d+)", text)[1]), len(list((root / "fd").iterdir())), int(re.search(r"Threads:\s+(\d+)", text)[1]))

    def spans(self, job_id):
        return json.loads(self.call("GetTimeline", job_id=job_id).json)["spans"]


def meta_of(folder, name):
    return json.loads((GOLDEN / folder / f"{name}.meta.json").read_text())


def post_request(name, registered):
    """A SubmitProofRequest's fields from a golden PoSt case."""
    meta = meta_of("post", name)
    kind = WINNING if meta["typ"].lower() == "winning" else WINDOW
    files = [golden_bytes(f"post/{name}.sector{i}.vanilla.bin") for i in range(len(meta["sectors"]))]
    return {
        "request_id": name,
        "proof_kind": kind,
        "sector_size": meta["sector_size"],
        "registered_proof": registered,
        "miner_id": meta["miner_id"],
        "randomness": bytes.fromhex(meta["randomness"]),
        "vanilla_proofs": files,
    }


def winning_request():
    return post_request("winning-2KiB", 0)


def window_request(sectors="2sectors"):
    return post_request(f"window-2KiB-V1_2-{sectors}", 10)


def porep_request(name="2KiB-V1_1", form="wrapped"):
    size = int(name.split("KiB")[0]) << 10
    return {"request_id": f"porep-{name}", "proof_kind": POREP, "sector_size": size, "vanilla_proof": golden_bytes(f"porep/{name}.{form}.json.gz")}


def snap_request(name="2KiB-snap"):
    meta = meta_of("update", name)
    fields = {k: bytes.fromhex(meta[k]) for k in ("comm_r_old", "comm_r_new", "comm_d_new")}
    files = [golden_bytes(f"update/{name}.part{k}.vanilla.bin") for k in range(meta["partitions"])]
    return {"request_id": name, "proof_kind": SNAP, "sector_size": 2048, "registered_proof": 0, "vanilla_proofs": files, **fields}


def go_calls(client, address, calls, timeout=1800):
    """Make calls (tag -> request fields) at once through the Go client; tag -> answer."""
    lines = []
    for tag, fields in calls.items():
        line = {"tag": tag}
        for key, value in fields.items():
            key = "kind" if key == "proof_kind" else key
            if isinstance(value, bytes):
                value = base64.b64encode(value).decode()
            elif isinstance(value, list):
                value = [base64.b64encode(v).decode() for v in value]
            line[key] = value
        lines.append(json.dumps(line))
    out = subprocess.run([client, address], input="\n".join(lines).encode(), capture_output=True, timeout=timeout, check=True).stdout
    answers = [json.loads(line) for line in out.splitlines()]
    for a in answers:
        a["proof"] = base64.b64decode(a["proof"] or "")
    return {a["tag"]: a for a in answers}
