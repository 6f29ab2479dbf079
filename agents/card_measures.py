"""What is measured for the card of an agent: matches in both roles, decisions of another kind, puzzles."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from agents.agent import Agent
from agents.evaluation import Match, duplicate_match
from agents.puzzles import Attempt, Puzzle, attempt, score
from pitch_env import Rules
from pitch_env.actions import action_text
from pitch_env.observation import part_slices
from pitch_env.state import Phase

KINDS = {
    "bids": (Phase.BID, Phase.TRUMP),
    "discards": (Phase.EXCHANGE, Phase.DISCARD),
    "cards": (Phase.PLAY,),
}
Tell = Callable[[str], None]


class MixedAgent:
    """Decides as one agent does, but in some phases as another.

    Args:
        agent, other: the two.
        phases: in which the other one decides.
        rules: of all observations.
        name: what it is called.
    """

    def __init__(self, agent: Agent, other: Agent, phases: Sequence[Phase], rules: Rules, name: str) -> None:
        self.agent, self.other, self.name = agent, other, name
        self.phases, self.part = list(phases), part_slices(rules)["phase"]

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``."""
        others = np.isin(observation[:, self.part].argmax(1), self.phases)
        actions = np.empty(len(observation), np.int64)
        for agent, rows in ((self.agent, ~others), (self.other, others)):
            if rows.any():
                actions[rows] = agent.act(observation[rows], mask[rows], rng)
        return actions


def is_slow(agent: Agent) -> bool:
    """Whether an agent thinks for long, as those do that ask for few deals at once."""
    return hasattr(agent, "deals_a_chunk")


def play_both_roles(
    rules: Rules, agent: Agent, opponents: Sequence[Agent], deals: Callable[[Agent], int], seed: int, tell: Tell
) -> tuple[list[Match], list[Match]]:
    """Duplicate matches of the agent against each opponent, and of each opponent against it."""
    own, others = [], []
    for opponent in opponents:
        tell(f"playing {opponent.name}")
        own.append(duplicate_match(rules, agent, opponent, deals(opponent), seed))
        others.append(duplicate_match(rules, opponent, agent, deals(opponent), seed))
    return own, others


def measure_kinds(rules: Rules, agent: Agent, other: Agent, deals: int, seed: int, tell: Tell) -> list[dict[str, Any]]:
    """What the agent gains against itself when another one takes its decisions of a kind: one entry a kind.

    Its mean, low and high are points per deal of a duplicate match of such a mixture against the agent.
    """
    found = []
    for kind, phases in KINDS.items():
        if kind == "discards" and rules.widow == "none":
            continue
        tell(f"playing with the {kind} of {other.name}")
        mixed = MixedAgent(agent, other, phases, rules, f"{agent.name} with the {kind} of {other.name}")
        match = duplicate_match(rules, mixed, agent, deals, seed)
        found.append({"kind": kind, "by": other.name, "deals": deals}
                     | {name: getattr(match, name) for name in ("mean", "low", "high")})  # fmt: skip
    return found


def solve_puzzles(agent: Agent, other: Agent | None, puzzles: Sequence[Puzzle], seed: int) -> dict[str, Any]:
    """How an agent does on the puzzles whose rules it plays, in all and by theme, and another one on the same."""
    tried = attempt(agent, puzzles, seed=seed)
    played = [each for each in tried if each.share is not None]
    themes = sorted({each.puzzle.theme for each in played})
    content: dict[str, Any] = {
        "puzzles": len(played),
        "score": score(played),
        "themes": {theme: _on(theme, played) for theme in themes},
        "failed": [
            {
                "name": each.puzzle.name,
                "theme": each.puzzle.theme,
                "share": each.share,
                "did": list(each.wrong),
                "right": [action_text(action) for action in each.puzzle.right],
            }
            for each in played
            if each.wrong
        ],
    }
    if other is not None:
        content["reference"] = {
            "name": other.name,
            "score": score(attempt(other, [each.puzzle for each in played], seed=seed)),
        }
    return content


def _on(theme: str, attempts: Sequence[Attempt]) -> dict[str, Any]:
    chosen = [each for each in attempts if each.puzzle.theme == theme]
    return {"puzzles": len(chosen), "score": score(chosen)}


def as_json(matches: Sequence[Match]) -> list[dict[str, Any]]:
    """Matches, ready for JSON."""
    return [asdict(match) for match in matches]
