"""Search with a trained policy: it says which actions are worth a try, and plays the sampled deals out.

The deals are those of search_deals.py; they are played side by side in a ``VectorGame``, a few for each situation at a
time. Slower than playing out by rule, the more so the larger the network.
"""

from typing import Protocol, runtime_checkable

import numpy as np

from agents.search_deals import copy_state, sample_deal
from agents.search_values import VIEWER_TEAM, add_gain, outcome, settle, start_deal
from pitch_env import Rules, VectorGame
from pitch_env.actions import NUM_ACTIONS, TRUMP
from pitch_env.cards import count
from pitch_env.chance import mix, stream
from pitch_env.engine import nth_legal
from pitch_env.kernel import kernel, records
from pitch_env.observation import read_observation
from pitch_env.state import PUBLIC, STATE

ROUND = 8  # deals between two looks at what is left to try
GROUP = 64  # situations that are thought about together


@runtime_checkable
class Policy(Protocol):
    """What a search can use: an agent that also tells probabilities, as ``checkpoint.NetworkAgent`` does."""

    name: str

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray: ...

    def probabilities(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray: ...


def set_candidates(
    policy: Policy, observation: np.ndarray, mask: np.ndarray, floor: float, tallies: np.ndarray
) -> None:
    """Make the most probable action the reference, and candidates of those that are at least ``floor`` probable."""
    chances = np.where(mask, policy.probabilities(observation, mask), -1.0)
    best = chances.argmax(1)
    likely = chances >= np.minimum(floor, chances.max(1))[:, None]
    tallies["cards"] = likely[:, :TRUMP] @ (np.int64(1) << np.arange(TRUMP))
    tallies["others"] = likely[:, TRUMP:] @ (np.int64(1) << np.arange(NUM_ACTIONS - TRUMP))
    tallies["reference"] = tallies["action"] = best
    tallies["done"] = likely.sum(1) == 1


def play_out(rules: Rules, states: np.ndarray, actions: np.ndarray, policy: Policy, seed: int) -> np.ndarray:
    """Take an action in each deal, then let the policy play all seats.

    Args:
        rules: of all the deals.
        states: STATE records [n].
        actions: int64 [n].
        policy: who plays.
        seed: of its chance.

    Returns:
        The tables at the end, PUBLIC records [n].
    """
    batch, rng = VectorGame(rules, len(states)), np.random.default_rng(seed)
    batch.states[:] = states
    batch.refresh()
    last, playing = records(len(states), PUBLIC), np.ones(len(states), bool)
    batch.step(actions)
    while True:
        over = playing & batch.ended
        last[over] = batch.last[over]
        playing &= ~over
        if not playing.any():
            return last
        # A game whose deal is over has dealt itself another; it takes any legal action, and nobody looks.
        actions = batch.mask.argmax(1)
        rows = np.flatnonzero(playing)
        actions[rows] = policy.act(batch.observation[rows], batch.mask[rows], rng)
        batch.step(actions)


def try_with_policy(
    rules: Rules, thought: tuple, rows: np.ndarray, policy: Policy, seed: int, until: int, tallies: np.ndarray
) -> None:
    """Try the candidates on more deals until ``until`` have been tried, as ``search_values.try_deals`` does.

    Args:
        rules: of all rows.
        thought: the first arguments of ``_lay_deals``, up to ``mind``.
        rows: int64, those that are still thought about.
        policy: who plays the deals out.
        seed: of the policy's chance.
        until: deals in all.
        tallies: TALLY records, one a row.
    """
    for start in range(0, len(rows), GROUP):
        group = rows[start : start + GROUP]
        while len(group):
            each = int(min(until - tallies["samples"][group[0]], ROUND))
            if each < 1:
                break
            first = np.concatenate([[0], np.cumsum([num_candidates(tallies[row]) * each for row in group])])
            states, actions = records(first[-1], STATE), np.empty(first[-1], np.int64)
            weights = np.empty((len(group), each))
            _lay_deals(*thought, group, first, weights, states, actions, tallies)
            last = play_out(rules, states, actions, policy, seed)
            _count_deals(*thought[:3], group, first, weights, last, tallies)
            group = group[tallies["done"][group] == 0]


def num_candidates(tally: np.void) -> int:
    """How many candidates a TALLY record holds."""
    return int(tally["cards"]).bit_count() + int(tally["others"]).bit_count()


@kernel(inline=False)
def _lay_deals(
    rules, numbers, settings, layouts, belief, observation, seeds, public, scratch, mind, rows, first, weights, states,
    actions, tallies,
):  # fmt: skip
    """Lay each row's next deals ready, once for each of its candidates."""
    for i in range(len(rows)):
        row, place, tally = rows[i], first[i], tallies[rows[i]]
        hand, dealt, discards = read_observation(rules[0], layouts[0], observation[row], public[0])
        for j in range(weights.shape[1]):
            generator = mix(stream(seeds[row], tally.samples + j))
            weights[i, j] = sample_deal(
                rules[0], numbers[0], belief[0], public[0], hand, dealt, discards, generator, scratch[0], scratch[1],
                scratch[2], mind[0],
            )  # fmt: skip
            for k in range(count(tally.cards) + count(tally.others)):
                actions[place] = nth_legal(tally.cards, tally.others, k)
                copy_state(scratch[0], states[place])
                place += 1


@kernel(inline=False)
def _count_deals(rules, numbers, settings, rows, first, weights, last, tallies):
    """Take the outcomes of these deals into the tallies."""
    for i in range(len(rows)):
        place, tally = first[i], tallies[rows[i]]
        cards, others = tally.cards, tally.others
        candidates = count(cards) + count(others)
        for j in range(weights.shape[1]):
            start_deal(tally, weights[i, j])
            standard = 0.0
            for k in range(candidates):
                if nth_legal(cards, others, k) == tally.reference:
                    standard = outcome(rules[0], numbers[0], last[place + k], VIEWER_TEAM)
            for k in range(candidates):
                value = outcome(rules[0], numbers[0], last[place + k], VIEWER_TEAM)
                add_gain(tally, nth_legal(cards, others, k), weights[i, j], value - standard)
            place += candidates
        settle(settings[0], tally)
