"""Rewards and advantages of seats whose decisions are braided into one stream. Pure functions on arrays."""

from collections.abc import Sequence

import numpy as np

from pitch_env import Rules
from pitch_env.kernel import kernel


def relative(change: np.ndarray, rules: Rules) -> np.ndarray:
    """Points relative to the opponents: the own team's less the mean over the other teams.

    Args:
        change: [..., players], the change of the score of each seat's team.

    Returns:
        The same shape; over the teams it sums to zero.
    """
    total = change[..., : rules.teams].sum(-1, keepdims=True)
    return change - (total - change) / (rules.teams - 1)


def rewards(change: np.ndarray, variants: Sequence[Rules], win: bool = False) -> np.ndarray:
    """What learners are rewarded with, relative to the others and at most about 1 in every variant.

    Args:
        change: float32 [T, N, players] as for ``relative``; game i is of ``variants[i % len(variants)]``.
        win: it is not points but 1 for who won a game.

    Returns:
        float32 of the same shape; 0 for seats that a game does not have.
    """
    reward = np.zeros_like(change)
    for kind, rules in enumerate(variants):
        games = slice(kind, None, len(variants))
        seats = slice(rules.players)
        reward[:, games, seats] = relative(change[:, games, seats], rules) / (1 if win else rules.max_points)
    return reward


@kernel(allocates=True)
def gae(reward, value, actor, done, bootstrap, gamma, lam, advantage):
    """Generalised advantage estimation (Schulman et al., 2016) for each seat on its own decisions.

    A seat's transition leads from one of its decisions to its next one in the same game, or to the end. What it is
    rewarded meanwhile, by whomever's action, belongs to that transition; so the end of a deal reaches the last decision
    of every seat, and a reward before a seat's first decision reaches none.

    Args:
        reward: float32 [T, N, players], what step t brought each seat.
        value: float32 [T, N], the critic's estimate for the seat that acted.
        actor: int8 [T, N], that seat.
        done: bool [T, N], whether step t ended the game.
        bootstrap: float32 [N, players], the critic's estimate for each seat after the last step.
        gamma, lam: discount and trace.
        advantage: float32 [T, N], written.
    """
    steps, games, players = reward.shape
    for game in range(games):
        pending = np.zeros(players)
        next_value = np.zeros(players)
        next_advantage = np.zeros(players)
        next_value[:] = bootstrap[game]
        for t in range(steps - 1, -1, -1):
            if done[t, game]:
                pending[:] = 0
                next_value[:] = 0
                next_advantage[:] = 0
            for seat in range(players):
                pending[seat] += reward[t, game, seat]
            seat = actor[t, game]
            delta = pending[seat] + gamma * next_value[seat] - value[t, game]
            here = delta + gamma * lam * next_advantage[seat]
            advantage[t, game] = here
            pending[seat] = 0
            next_value[seat] = value[t, game]
            next_advantage[seat] = here
