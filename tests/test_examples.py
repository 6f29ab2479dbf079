"""Every example runs, shortened by its argument, in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

# For each example: its argument, the libraries that it needs beside our own, and what its last line says.
RUNS: dict[str, tuple[str, list[str], str]] = {
    "random_play": ("4", [], r"points in 4 deals: player_0 [+-]\d+, .*player_3 [+-]\d+"),
    "own_agent": ("8", [], r".*"),
    "cleanrl_loop": ("1", [], r"learner against greedy: .* points per deal"),
    "bidding_model": ("60", [], r"\d+% of \d+ bids foretold, where passing always is \d+%"),
    "information_set_search": ("10", [], r"\w\w: [+-][\d.]+ points, plus or minus [\d.]+"),
    "sb3_maskable_ppo": ("4096", ["sb3_contrib"], r"against greedy: .* points per deal"),
    "torchrl_ppo": ("2048", ["torchrl"], r"\w+ against greedy: .* points per deal"),
    "tianshou_dqn": ("1", ["tianshou"], r"\w+ against greedy: .* points per deal"),
    "rllib_ppo": ("1", ["ray.rllib"], r"\w+ against greedy: .* points per deal"),
    "pufferlib_ppo": ("1", ["pufferlib"], r"\w+ against greedy: .* points per deal"),
}


def run(example: str, argument: str) -> str:
    """What an example prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(ROOT / "examples" / f"{example}.py"), argument]
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", RUNS)
def test_it_runs(example: str) -> None:
    argument, libraries, last = RUNS[example]
    for library in libraries:
        pytest.importorskip(library)
    lines = run(example, argument).splitlines()
    assert re.fullmatch(last, lines[-1]), lines[-1]


def test_an_exported_policy_plays_without_torch(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from agents.export import export

    export(ROOT / "checkpoints" / "auction", tmp_path, decisions=100)
    printed = run("exported_policy", str(tmp_path / "model.onnx"))
    assert re.search(r"it expects [+-][\d.]+ points", printed)
    assert float(re.search(r"against greedy: ([+-][\d.]+)", printed)[1]) > 0  # type: ignore[index]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_it_is_short(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    assert 10 <= sum(bool(line) for line in lines) <= 40


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_it_is_tested_and_says_how_it_is_run(file: Path) -> None:
    assert file.stem in {*RUNS, "exported_policy", "open_spiel_cfr"}  # the last is run in test_open_spiel.py
    assert re.search(rf"python examples/{file.name}|argparse", file.read_text(encoding="utf-8"))
    assert f"`{file.name}`" in (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
