"""Fixtures of the transport's tests: the proto module, once per file, and servers over the fake engine."""
import pytest
from daemon_kit import generate_messages
from rpc_kit import Fake


@pytest.fixture(scope="module")
def pb(tmp_path_factory):
    return generate_messages(tmp_path_factory.mktemp("pb"))


@pytest.fixture
def fake(tmp_path):
    """fake(*options) starts a server; all are stopped, and looked at, at the end."""
    made = []

    def start(*args, **kw):
        made.append(Fake(tmp_path, *args, **kw))
        return made[-1]

    yield start
    for f in made:
        if f.process.poll() is None:
            f.stop()
