"""An agent of your own in a tournament: python examples/own_agent.py [DEALS]"""

import sys

import numpy as np

from agents.baselines import BASELINES
from agents.tournament import Tournament
from agents.tournament_result import print_result, result_of
from agents.tournament_run import play
from pitch_env import Rules
from pitch_env.actions import PASS

ACTIONS = np.arange(71)
COST = np.where(ACTIONS < 54, ACTIONS % 13, np.where(ACTIONS == PASS, -1, ACTIONS))  # a card's rank; a pass is cheap


class Cautious:
    """Never bids more than it must, and plays its lowest legal card."""

    name = "cautious"

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Actions [N] for observations [N, D] and masks [N, 71]."""
        return np.where(mask, COST, 1000).argmin(1)


BASELINES["cautious"] = Cautious  # so that it has a name, as tournaments want
deals = int(sys.argv[1]) if len(sys.argv) > 1 else 400
tournament = Tournament.between(["cautious", "random", "greedy", "expert"], Rules.preset("auction"), seed=1)
outcomes = play(tournament, deals, workers=1)  # in this process, where the agent is known
print_result(result_of(tournament, outcomes), f"auction, {deals} deals a pairing")
