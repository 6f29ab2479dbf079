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


def gae(reward, value, actor, done, bootstrap, gamma, lam, advantage):
    """Generalised advantage estimation (Schulman et al., 2016) for each seat on its own decisions.

    Args:
        reward, value, actor, done, bootstrap, gamma, lam: as for ``traces``.
        advantage: float32 [T, N], written; with the value it is the target of the critic.
    """
    traces(reward, value, value, actor, done, bootstrap, gamma, lam, advantage)


def expected_sarsa(reward, value, action_value, actor, done, bootstrap, gamma, lam, target):
    """Expected SARSA(lambda) for each seat on its own decisions: what the value of the action taken should be.

    The target is Q(s, a) and the traces of what surprised, where neither what follows an action nor what it is
    compared with is sampled: both are the policy's mean over its actions. Less V(s) it is the advantage of VRPO (Fan
    and Farina, 2026, arXiv 2605.19235). Where Q is exact, what other actions the seat chose later adds no noise to
    it, which GAE cannot avoid; where Q does not depend on the action it is GAE.

    Args:
        reward, actor, done, bootstrap, gamma, lam: as for ``traces``.
        value: float32 [T, N], V(s), the mean of Q(s, .) under the policy that acted.
        action_value: float32 [T, N], Q(s, a) of the action that was taken.
        target: float32 [T, N], written; less ``value`` it is the advantage.
    """
    traces(reward, value, action_value, actor, done, bootstrap, gamma, lam, target)
    target += action_value


@kernel(allocates=True)
def traces(reward, value, estimate, actor, done, bootstrap, gamma, lam, trace):
    """What surprised a seat at each of its decisions and, discounted, at its later ones.

    A seat's transition leads from one of its decisions to its next one in the same game, or to the end. What it is
    rewarded meanwhile, by whomever's action, belongs to that transition; so the end of a deal reaches the last decision
    of every seat, and a reward before a seat's first decision reaches none.

    Args:
        reward: float32 [T, N, players], what step t brought each seat.
        value: float32 [T, N], V(s), the critic's estimate for the seat that acted.
        estimate: float32 [T, N], what a surprise is measured from: Q(s, a), or V(s) again.
        actor: int8 [T, N], that seat.
        done: bool [T, N], whether step t ended the game.
        bootstrap: float32 [N, players], the critic's estimate V for each seat after the last step.
        gamma, lam: discount and trace.
        trace: float32 [T, N], written: the sum of (gamma * lam)**k (r + gamma * V(s') - estimate), k decisions later.
    """
    steps, games, players = reward.shape
    for game in range(games):
        pending = np.zeros(players)
        next_value = np.zeros(players)
        next_trace = np.zeros(players)
        next_value[:] = bootstrap[game]
        for t in range(steps - 1, -1, -1):
            if done[t, game]:
                pending[:] = 0
                next_value[:] = 0
                next_trace[:] = 0
            for seat in range(players):
                pending[seat] += reward[t, game, seat]
            seat = actor[t, game]
            here = pending[seat] + gamma * next_value[seat] - estimate[t, game]
            here += gamma * lam * next_trace[seat]
            trace[t, game] = here
            pending[seat] = 0
            next_value[seat] = value[t, game]
            next_trace[seat] = here


def returns(reward: np.ndarray, value: np.ndarray, actor: np.ndarray, done: np.ndarray) -> np.ndarray:
    """What each decision brought the seat that took it, to the end of the game: the targets of Monte Carlo.

    Where the roll-out ends before the game, a seat's last decision stands for what was to come: those before it are
    counted up to it and then take its value. It has no return of its own yet. To learn from finished games only would
    need no estimate, but of roll-outs of 64 steps it would leave out a fifth of the decisions, more than a fourth of
    the bids, and nearly all where games are long; this leaves out a twentieth.

    Args:
        reward: float32 [T, N, players], what step t brought each seat.
        value: float32 [T, N], what the seat that acted expected of its best action.
        actor: int8 [T, N], that seat.
        done: bool [T, N], whether step t ended the game.

    Returns:
        float32 [T, N]; NaN for decisions whose return is not known.
    """
    found = np.empty_like(value)
    games = np.arange(done.shape[1])
    ahead = np.full(reward.shape[1:], np.nan, np.float32)
    for t in range(len(reward) - 1, -1, -1):
        ahead[done[t]] = 0
        ahead += reward[t]
        found[t] = ahead[games, actor[t]]
        open_ones = games[np.isnan(found[t])]
        ahead[open_ones, actor[t, open_ones]] = value[t, open_ones]
    return found
