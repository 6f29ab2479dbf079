"""What settings of the trainer bring: each against the default, seed by seed, on duplicate deals.

    python tests/benchmarks/sweep_training.py --common "--total-decisions 7000000" "--pool-share 0.2" "--depth 2"

Every setting is trained with every seed, and then plays the default's run of the same seed: between two agents that
are much alike the luck of the cards is small, so such a match tells more than one against a baseline. Which setting is
better is a question of runs and not of deals, so the mean of a setting has the interval of its seeds. To compare at
equal time, let --common say --minutes. A sweep that was stopped goes on when it is called again.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents import load, options
from agents.checkpoint import NetworkAgent
from agents.evaluation import Match, duplicate_match
from agents.intervals import interval

ROOT = Path(__file__).parent.parent.parent
MATCH_SEED = 777  # of the deals between runs; those of training and of its own matches have the seed of the run


@dataclass(frozen=True)
class Run:
    """One training run of the sweep; the default has an empty setting."""

    out: Path
    common: str
    setting: str
    seed: int

    @property
    def folder(self) -> Path:
        return self.out / f"{re.sub(r'[^a-zA-Z0-9.]+', '-', self.setting).strip('-') or 'default'}_{self.seed}"

    @property
    def command(self) -> list[str]:
        return [*shlex.split(self.common), *shlex.split(self.setting), f"--seed={self.seed}", f"--out={self.folder}"]

    @property
    def note(self) -> Path:
        return self.folder / "options.txt"

    @property
    def result(self) -> Path:
        return self.folder / "evaluation.json"

    def refuse_another(self) -> None:
        """Raises ValueError where the folder holds a run with other options, which would pass for this one."""
        if self.folder.exists() and not (self.note.exists() and self.note.read_text("utf-8") == self.said):
            raise ValueError(f"{self.folder} is of another run than {self.said!r}; choose another --out")

    @property
    def said(self) -> str:
        return shlex.join(self.command)

    def train(self) -> None:
        """Train to the end, going on where it was stopped. Raises RuntimeError where it does not come to its end."""
        if self.result.exists():
            return
        print(f"training {self.folder.name}\n", end="", flush=True)  # at once, for there may be other threads
        self.folder.mkdir(parents=True, exist_ok=True)
        self.note.write_text(self.said, "utf-8")
        resume = [f"--resume={self.folder}"] if (self.folder / "resume.safetensors").exists() else []
        command = [sys.executable, str(ROOT / "train.py"), *self.command, *resume]
        log = self.folder / "log.txt"
        with log.open("w", encoding="utf-8") as file:
            subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False)
        if not self.result.exists():
            last = [line for line in log.read_text(encoding="utf-8").splitlines() if line][-1:]
            raise RuntimeError(f"{self.folder.name} did not come to its end: {''.join(last)}")

    def agent(self) -> NetworkAgent:
        agent = load(str(self.folder))
        if not isinstance(agent, NetworkAgent):
            raise ValueError(f"{self.folder} is not an agent of one variant, which a sweep is for")
        return agent


def table(runs: dict[str, list[Run]], deals: int) -> str:
    """What the runs are worth as Markdown, a line for each setting; runs[""] are those of the default."""
    head = ("setting", "minutes", "decisions", "against `expert`", "against the default", "mean")
    lines = [head, ("---",) * len(head)]
    for setting, own in runs.items():
        results = [json.loads(run.result.read_text("utf-8")) for run in own]
        against = [match for result in results for match in result["matches"] if match["opponent"] == "expert"]
        played = [head_to_head(*pair, deals) for pair in zip(own, runs[""], strict=True)] if setting else []
        columns = (
            [f"{result['seconds'] / 60:.1f}" for result in results],
            [f"{result['decisions'] / 1e6:.2f} M" for result in results],
            [f"{match['mean']:+.3f}" for match in against],
            [f"{match.mean:+.3f} +-{(match.high - match.low) / 2:.3f}" for match in played],
        )
        name = f"`{setting}`" if setting else "default"
        lines.append((name, *map(", ".join, columns), mean_of_seeds([match.mean for match in played])))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def mean_of_seeds(means: list[float]) -> str:
    """With its interval, for which there are at least two."""
    if len(means) < 2:
        return ""
    of_seeds = interval(np.array(means))
    return f"{of_seeds.mean:+.3f} ({of_seeds.low:+.3f} to {of_seeds.high:+.3f})"


def head_to_head(run: Run, default: Run, deals: int) -> Match:
    agent = run.agent()
    return duplicate_match(agent.rules, agent, default.agent(), deals, MATCH_SEED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "settings", nargs="+", metavar="SETTING", help="options of train.py that differ, as one word: '--depth 2'"
    )
    parser.add_argument("--common", default="", metavar="OPTIONS", help="options of train.py of all runs, as one word")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="of the runs (default: 1 2 3)")
    parser.add_argument("--deals", type=options.at_least(2), default=10_000, help="of each match (default: 10000)")
    parser.add_argument("--jobs", type=options.at_least(1), default=1, help="runs side by side (default: 1)")
    parser.add_argument("--out", type=Path, default=Path("runs/sweep"), help="default: runs/sweep")
    chosen = parser.parse_args()
    runs = {
        setting: [Run(chosen.out, chosen.common, setting, seed) for seed in chosen.seeds]
        for setting in ["", *chosen.settings]
    }
    everyone = [
        run for alike in zip(*runs.values(), strict=True) for run in alike
    ]  # a seed with all settings, the next
    try:
        if len({run.folder for run in everyone}) < len(everyone):
            raise ValueError("there is a setting or a seed twice")
        for run in everyone:
            run.refuse_another()
        with ThreadPoolExecutor(chosen.jobs) as pool:
            list(pool.map(Run.train, everyone))
        print(table(runs, chosen.deals))
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"sweep_training: {error}")


if __name__ == "__main__":
    main()
