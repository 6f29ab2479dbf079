"""The sweep over settings of the trainer, with runs that are over in a moment."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

SWEEP = Path(__file__).parent / "benchmarks" / "sweep_training.py"
TINY = "--total-decisions 2000 --num-games 64 --steps 8 --minibatch 256 --width 16 --evaluate-deals 4 --final-deals 10"


def sweep(out: Path, *arguments: str, common: str = TINY) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SWEEP), f"--common={common}", "--deals=20", f"--out={out}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_each_setting_plays_the_default_of_its_seed_and_a_stopped_sweep_goes_on(tmp_path):
    first = sweep(tmp_path, "--depth 0", "--seeds", "4", "--jobs", "2")
    assert (first.returncode, first.stderr) == (0, "")
    assert sorted(re.findall("training (.*)", first.stdout)) == ["default_4", "depth-0_4"]
    rows = [line.strip("| ").split(" | ") for line in first.stdout.splitlines() if line.startswith("|")]
    assert [row[0] for row in rows] == ["setting", "---", "default", "`--depth 0`"]
    assert re.fullmatch(r"[+-]\d\.\d{3} \+-\d\.\d{3}", rows[3][4])
    (tmp_path / "depth-0_4" / "evaluation.json").unlink()  # as when it was stopped before its end
    again = sweep(tmp_path, "--depth 0", "--seeds", "4")
    assert re.findall("training (.*)", again.stdout) == ["depth-0_4"]
    assert again.stdout.splitlines()[1:] == first.stdout.splitlines()[2:]


def test_the_interval_of_a_setting_is_that_of_its_seeds():
    mean_of_seeds = runpy.run_path(str(SWEEP))["mean_of_seeds"]
    assert mean_of_seeds([0.1, 0.2, 0.3]) == "+0.200 (-0.048 to +0.448)"  # Student's t of two degrees, 4.303
    assert mean_of_seeds([0.1]) == ""


def test_what_cannot_be_swept_is_refused_and_nothing_is_trained(tmp_path):
    (tmp_path / "default_1").mkdir()
    for arguments, says in (
        (("--depth 2", "--depth  2"), "a setting or a seed twice"),
        (("--depth 2", "--seeds", "3", "3"), "a setting or a seed twice"),
        (("--depth 2", "--seeds", "1"), "default_1 is of another run"),
        (("--depth x", "--seeds", "2"), "default_2 did not come to its end"),
    ):
        refused = sweep(tmp_path, *arguments, common="--depth y")
        assert refused.returncode == 1
        assert says in refused.stderr
    assert not list(tmp_path.rglob("*.safetensors"))
