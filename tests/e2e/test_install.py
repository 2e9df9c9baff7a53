"""Manual pages and shell completion agree with the program."""
import os
import pathlib
import re
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ.get("CUZK_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
COMMANDS = ["prove", "verify", "inspect", "gen", "circuits", "params", "bench"]


@pytest.fixture(scope="module")
def man(cuzk, tmp_path_factory):
    out = tmp_path_factory.mktemp("man")
    subprocess.run([SOURCE / "scripts" / "gen_man", cuzk.path, out], check=True)
    return out


@pytest.mark.parametrize("cmd", COMMANDS)
def test_manual_page_has_every_option(cuzk, man, cmd):
    page = (man / f"cuzk-{cmd}.1").read_text().replace("\\-", "-")
    options = re.findall(r"^  (--[a-z0-9-]+)", cuzk(cmd, "--help"), flags=re.M)
    assert len(options) > 4
    for opt in options:
        assert f".B {opt}" in page, opt
    assert f"cuzk-{cmd}" in (man / "cuzk.1").read_text().replace("\\-", "-")


def complete(cuzk, line):
    words = line.split(" ")
    script = (
        f"source {SOURCE}/scripts/completion/cuzk.bash; COMP_WORDS=({' '.join(w or chr(39) * 2 for w in words)}); "
        f"COMP_CWORD={len(words) - 1}; _cuzk; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()


def test_bash_completion_knows_commands_and_options(cuzk):
    assert complete(cuzk, f"{cuzk.path} pr") == ["prove"]
    assert sorted(complete(cuzk, f"{cuzk.path} prove --pa")) == ["--params", "--partition"]
    assert complete(cuzk, f"{cuzk.path} params ch") == ["check"]
    assert complete(cuzk, f"{cuzk.path} prove --kind wi") == ["winning", "window"]
