"""The README's demonstration, as a newcomer runs it: only the building and the making of the key are left out."""
import os
import re
import subprocess

from daemon_fixtures import keys, messages  # noqa: F401
from daemon_kit import SOURCE


def test_demo(cuzk, keys, tmp_path):
    keys.need("PoRep 2KiB")
    (tmp_path / "cuzk").mkdir()
    (tmp_path / "cuzk/development-not-for-mainnet").symlink_to(keys.folder)
    env = {**os.environ, "CUZK": str(cuzk.path), "XDG_CACHE_HOME": str(tmp_path), "DEMO_OUT": str(tmp_path / "out")}
    done = subprocess.run([SOURCE / "scripts/demo"], env=env, capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL, check=False)
    out = done.stdout
    assert done.returncode == 0, out + done.stderr
    for line in ("reusing", "job demo: completed", "valid: 1 proof", "page   http://127.0.0.1:"):
        assert line in out, out
    assert (tmp_path / "out/proof.bin").stat().st_size == 192
    assert (tmp_path / "out/trace.json").stat().st_size > 1000
    rows = re.findall(r"^ +(request|decode|check|journal|queue|key_load|witness|device|verify|reply)\b", out, re.M)
    assert len(set(rows)) == 10, out
    assert "GAP" not in out, out
