"""Fixtures of the daemon tests: the proto module and the keys, once per file."""
import pytest
from daemon_kit import Daemon, Keys, generate_messages


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    return generate_messages(tmp_path_factory.mktemp("pb"))


@pytest.fixture(scope="module")
def keys(cuzk):
    made = Keys(cuzk)
    made.need("WinningPoSt 2KiB")
    made.need("WindowPoSt 2KiB")
    return made


@pytest.fixture
def make_daemon(cuzk, messages, tmp_path, keys):
    """Daemon(config, env) in this test's folder; stopped at the end if still running."""
    made = []

    def make(config="", env=None):
        made.append(Daemon(cuzk, messages, tmp_path, keys, config, env))
        return made[-1]

    yield make
    for d in made:
        if d.process is not None:
            d.process.kill()
            d.process.wait()


def verify_post(cuzk, keys, request, proof, folder):
    """With the separate verifier, from files."""
    winning = request["proof_kind"] == 4
    path = folder / "proof.bin"
    path.write_bytes(proof)
    files = []
    for i, b in enumerate(request["vanilla_proofs"]):
        files.append(folder / f"vanilla{i}.bin")
        files[-1].write_bytes(b)
    args = ["--kind", "winning" if winning else "window", "--registered-proof", request["registered_proof"]]
    args += ["--randomness", request["randomness"].hex(), "--miner", request["miner_id"]]
    cuzk("verify", "--proof", path, "--params", keys.path("WinningPoSt 2KiB" if winning else "WindowPoSt 2KiB"), *args, *files)
