"""Manual pages, shell completion and examples agree with the program."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ.get("CUZK_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
COMMANDS = ["prove", "verify", "inspect", "gen", "circuits", "params", "bench", "devices", "daemon"]
COMMANDS += ["submit", "await", "status", "jobs", "cancel", "trace", "preload", "evict", "metrics"]


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
    assert ".SH EXIT STATUS\n.TP\n.B 0\ndone\n" in page and ".B 64\nwrong usage\n" in page


def test_manual_pages_are_those_of_the_commands(cuzk, man):
    assert {p.name for p in man.iterdir()} == {"cuzk.1"} | {f"cuzk-{c}.1" for c in COMMANDS}
    known = {"cuzk"} | {f"cuzk-{c}" for c in COMMANDS}
    assert {p.stem for p in (SOURCE / "docs" / "man").glob("*.man")} <= known


def test_documents_name_existing_options_only(cuzk):
    """Every `cuzk COMMAND ... --option` in an example is one that the command has."""
    known = {c: set(re.findall(r"--[a-z0-9-]+", cuzk(c, "--help"))) for c in COMMANDS}
    known["bench"] |= set(re.findall(r"--[a-z0-9-]+", cuzk("bench", "e2e", "--help")))
    docs = [SOURCE / "README.md", *(SOURCE / "docs").glob("*.md"), *(SOURCE / "docs" / "man").glob("*.man")]
    seen = 0
    for doc in docs:
        blocks = r"^```\n(.*?)^```$" if doc.suffix == ".md" else r"^\.nf\n(.*?)^\.fi$"
        text = "".join(re.findall(blocks, doc.read_text(), flags=re.M | re.S))
        text = text.replace("\\e\n", " ").replace("\\\n", " ").replace("\\-", "-")
        for cmd, rest in re.findall(r"(?:^|; )cuzk (\w+)([^\n#;]*)", text, flags=re.M):
            assert cmd in known, f"{doc.name}: cuzk {cmd}"
            unknown = set(re.findall(r"(?<=\s)--[a-z0-9-]+", rest)) - known[cmd]
            assert not unknown, f"{doc.name}: cuzk {cmd}{rest}: {unknown}"
            seen += 1
    assert seen > 10


def complete(cuzk, line):
    words = line.split(" ")
    script = (
        f"source {SOURCE}/scripts/completion/cuzk.bash; COMP_WORDS=({' '.join(w or chr(39) * 2 for w in words)}); "
        f"COMP_CWORD={len(words) - 1}; _cuzk; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()


def test_bash_completion_knows_commands_and_options(cuzk):
    assert sorted(complete(cuzk, f"{cuzk.path} pr")) == ["preload", "prove"]
    assert sorted(complete(cuzk, f"{cuzk.path} prove --pa")) == ["--params", "--partition"]
    assert complete(cuzk, f"{cuzk.path} params ch") == ["check"]
    assert complete(cuzk, f"{cuzk.path} prove --kind wi") == ["winning", "window"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completion_knows_commands_and_options(cuzk):
    def fish(line):
        script = f"source {SOURCE}/scripts/completion/cuzk.fish; complete -C'{line}'"
        env = dict(os.environ, PATH=f"{pathlib.Path(cuzk.path).parent}:{os.environ['PATH']}")
        out = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True, env=env).stdout
        return sorted(line.split("\t")[0] for line in out.splitlines())

    assert fish("cuzk pr") == ["preload", "prove"]
    assert fish("cuzk prove --pa") == ["--params", "--partition"]
    assert fish("cuzk params ch") == ["check"]
    assert fish("cuzk prove --kind wi") == ["window", "winning"]
