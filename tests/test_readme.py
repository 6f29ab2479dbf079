"""The README's examples run as printed."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pitch_env import Rules

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """The code blocks of a language, in order."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [code for name, code in fences if name == language]


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.split("\n")[0])
def test_python_examples_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})


def test_the_evaluation_command_runs(tmp_path):
    (line,) = (line for block in blocks("sh") for line in block.splitlines() if line.startswith("python -m"))
    words = [sys.executable, *shlex.split(line)[1:]]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "result.json").exists()


def test_the_two_commands_stand_first_and_exist():
    assert blocks("sh")[0].split("\n")[0].startswith("make train")
    assert blocks("sh")[0].split("\n")[1].startswith("make test")
    makefile = (ROOT / "Makefile").read_text()
    assert "\ntrain:" in makefile
    assert "\ntest:" in makefile


def test_the_tree_names_the_files_that_are_there():
    tree = blocks("")[-1]
    for folder in ("pitch_env", "agents"):
        for file in (ROOT / folder).glob("*.py"):
            if not file.name.startswith(("__", "command_")):
                assert file.name in tree, f"{folder}/{file.name} is not in the README's tree"
    for name in re.findall(r"\w+\.py", tree):
        assert any((ROOT / folder / name).exists() for folder in (".", "pitch_env", "agents")), name


def test_every_preset_and_config_is_named():
    for name in [*Rules.presets(), *(file.stem for file in (ROOT / "configs").glob("*.yaml"))]:
        assert f"`{name}`" in README
