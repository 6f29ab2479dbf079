"""The table of what an agent calls at which score."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pitch_env import Rules
from pitch_env.actions import PASS
from pitch_env.observation import part_slices

SCRIPT = Path(__file__).parent / "benchmarks" / "bids_by_score.py"


class PassesWhenAhead:
    """One that passes where its score is above zero and else bids as little as may be."""

    name = "passes when ahead"

    def __init__(self, rules: Rules) -> None:
        self.above = part_slices(rules)["score_above"]

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        ahead = observation[:, self.above].reshape(len(mask), -1)[:, 0] > 0  # of the own team
        bid = mask.copy()
        bid[:, PASS] = False
        return np.where(ahead & mask[:, PASS], PASS, np.where(bid.any(1), bid.argmax(1), mask.argmax(1)))


@pytest.mark.parametrize("name", ["auction", "auction_pairs", "oklahoma"])
def test_the_calls_of_the_team_with_that_score_are_counted(name):
    passes, rules = runpy.run_path(str(SCRIPT))["passes"], Rules.preset(name)
    agent = PassesWhenAhead(rules)
    assert passes(rules, agent, 5, 0, 40, 1).mean == 1
    assert passes(rules, agent, 0, 5, 40, 1).mean < 1


def test_it_prints_a_table_and_refuses_who_has_no_score_to_bid_by():
    shown = subprocess.run([sys.executable, str(SCRIPT), "auction2", "--deals", "50"], capture_output=True, text=True)
    assert shown.stdout.count("\n") == 11
    assert shown.stdout.splitlines()[2].startswith("| 0 | 0 | ")
    for agent in ("expert", "money"):
        refused = subprocess.run([sys.executable, str(SCRIPT), agent], capture_output=True, text=True)
        assert refused.returncode == 2
        assert "one variant that has a target" in refused.stderr
