"""What an agent makes of a situation: its choice, its probabilities, the value that it expects."""

from dataclasses import dataclass

import numpy as np

from agents.agent import Agent
from pitch_env import Game
from pitch_env.actions import action_text
from pitch_env.cards import CARD_ID
from pitch_env.render import SYMBOLS, card_symbol


@dataclass(frozen=True)
class Opinion:
    """What an agent thinks that a seat should do."""

    agent: str
    choice: str
    probabilities: list[tuple[str, float]]  # of the legal actions, the likeliest first; empty where it has none
    value: float | None  # what it expects, relative to the others; None where it has no idea
    chances: bool = False  # the value is the chance to win the game, 0.01 for 1 %, and not points of the deal

    @property
    def expects(self) -> str:
        """The value in words; empty where there is none."""
        if self.value is None:
            return ""
        if self.chances:
            return f"a chance to win of {self.value:+.1%}, relative to the others"
        return f"{self.value:+.2f} points"


def action_symbol(action: str) -> str:
    """An action's text with the suit's symbol: ``"A♠"``, ``"trump ♠"``."""
    if action in CARD_ID:
        return card_symbol(action)
    return f"trump {SYMBOLS[action[-1]]}" if action.startswith("trump") else action


def think(agent: Agent, game: Game, rng: np.random.Generator) -> int:
    """The action that an agent takes for the seat to act, from what that seat sees."""
    return int(agent.act(*_seen(game), rng)[0])


def opinion(agent: Agent, game: Game, rng: np.random.Generator) -> Opinion:
    """What an agent would do in the place of the seat to act, and what it makes of it."""
    choice, shares, value = think(agent, game, rng), [], None
    observation, mask = _seen(game)
    if hasattr(agent, "probabilities"):
        chances = agent.probabilities(observation, mask)[0]
        legal = sorted(game.legal_ids(), key=lambda action: -chances[action])
        shares = [(action_text(action), float(chances[action])) for action in legal]
    if hasattr(agent, "values"):
        value = float(agent.values(observation, mask)[0])
    return Opinion(agent.name, action_text(choice), shares, value, values_are_chances(agent))


def values_are_chances(agent: Agent) -> bool:
    """Whether an agent's values are chances to win, as of a checkpoint or an export that learned to win games."""
    metadata = getattr(agent, "metadata", None)
    if metadata is not None:
        return metadata["checkpoint"]["config"].get("reward") == "win"
    scale = getattr(agent, "scale", None)  # of points it is the most that a deal holds, which are two at least
    return scale is not None and bool((scale == 1).all())


def _seen(game: Game) -> tuple[np.ndarray, np.ndarray]:
    """Observation and mask of the seat to act, as a batch of one."""
    assert game.actor is not None
    return game.observation(game.actor)[None], game.legal_mask()[None]
