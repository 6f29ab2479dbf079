"""Players by rule: ``random``, ``greedy``, ``expert`` and its variations, and the way from observations to kernels.

A baseline knows what a network knows: observations and masks. It reads the rules from the first bytes of each row,
decodes the rest with the inverse of what wrote it, and decides in a kernel, row by row. Rows of one batch may be of
different rules.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from agents.agent import Agent
from agents.expert import expert_action
from agents.expert_mind import MIND, forget_tricks
from agents.expert_numbers import STYLES, numbers_of
from pitch_env.actions import NUM_ACTIONS, PASS, TRUMP
from pitch_env.cards import ACE, CARD_POINTS, KING, SUIT_MASKS, bit, count, lowest
from pitch_env.engine import nth_legal
from pitch_env.kernel import in_parallel, kernel, records
from pitch_env.observation import RULES_BYTES, layout, read_observation, rules_of
from pitch_env.rules import Rules, pack
from pitch_env.scoring import led_suit, power, team_of, trick_winner, trump_power
from pitch_env.state import NOBODY, PUBLIC, Phase

BLOCKS = 64  # into which a batch is cut: each has its own scratch records


class RandomAgent:
    """Any legal action, each with the same chance."""

    name = "random"

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``. Raises ValueError where a row has no legal action."""
        mask = checked_mask(observation, mask)
        numbers = mask.sum(axis=1)
        chosen = (rng.random(len(mask)) * numbers).astype(np.int64)  # the chosen-th of the legal actions
        return np.argmax(np.cumsum(mask, axis=1) > chosen[:, None], axis=1).astype(np.int64)


class GreedyAgent:
    """Bids on its own high trumps, takes points when it can do so cheaply, and else plays its lowest card."""

    name = "greedy"

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``. Raises ValueError where a row has no legal action or no rules."""
        mask = checked_mask(observation, mask)
        actions = np.zeros(len(mask), np.int64)
        codes, publics = as_bytes(observation), records(BLOCKS, PUBLIC)
        for rules, rows in rows_by_rules(observation):
            in_parallel(
                _greedy_rows, BLOCKS, pack(rules), layout(rules), codes, mask, rows, publics, actions,
                weight=-(-len(rows) // BLOCKS),
            )  # fmt: skip
        return actions


class ExpertAgent:
    """Bids what its hand will make and plays by counting cards; see expert.py.

    Args:
        style: one of ``STYLES``: ``expert``, or a player who differs from it in a few numbers.
    """

    def __init__(self, style: str = "expert") -> None:
        self.name = self.style = style

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``. Raises ValueError where a row has no legal action or no rules."""
        mask = checked_mask(observation, mask)
        actions = np.zeros(len(mask), np.int64)
        codes, publics, minds = as_bytes(observation), records(BLOCKS, PUBLIC), records(BLOCKS, MIND)
        for rules, rows in rows_by_rules(observation):
            in_parallel(
                _expert_rows, BLOCKS, pack(rules), numbers_of(rules, self.style), layout(rules), codes, mask, rows,
                publics, minds, actions, weight=-(-len(rows) // BLOCKS),
            )  # fmt: skip
        return actions


BASELINES: dict[str, Callable[[], Agent]] = {
    "random": RandomAgent,
    "greedy": GreedyAgent,
    **{style: partial(ExpertAgent, style) for style in STYLES},
}


def checked_mask(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The mask as bool [N, 71]. Raises ValueError for other shapes and for rows without a legal action."""
    mask = np.ascontiguousarray(mask, bool)
    if observation.ndim != 2 or mask.shape != (len(observation), NUM_ACTIONS):
        raise ValueError(
            f"observation {observation.shape} and mask {mask.shape} are not allowed; they are [N, D] and [N, 71]"
        )
    if not mask.any(axis=1).all():
        raise ValueError(f"row {int(np.argmin(mask.any(axis=1)))} has no legal action")
    return mask


def rows_by_rules(observation: np.ndarray) -> Iterator[tuple[Rules, np.ndarray]]:
    """The different rules in a batch of observations, each with the numbers of its rows."""
    if not len(observation):
        return
    codes = np.ascontiguousarray(observation[:, :RULES_BYTES], np.uint8)
    if (codes == codes[0]).all():
        yield rules_of(codes[0]), np.arange(len(codes))
        return
    kinds, kind = np.unique(codes.view(f"V{RULES_BYTES}").ravel(), return_inverse=True)
    for i in range(len(kinds)):
        rows = np.flatnonzero(kind == i)
        yield rules_of(codes[rows[0]]), rows


def as_bytes(observation: np.ndarray) -> np.ndarray:
    """The observation as uint8, which its values are in meaning whatever their type."""
    return np.ascontiguousarray(observation, np.uint8)


@kernel
def read_mask(mask):
    """A row of a mask as the two integers that ``engine.legal`` gives."""
    cards, others = np.int64(0), np.int64(0)
    for action in range(TRUMP):
        cards |= np.int64(mask[action]) << action
    for action in range(TRUMP, NUM_ACTIONS):
        others |= np.int64(mask[action]) << (action - TRUMP)
    return cards, others


@kernel(inline=False)
def _greedy_rows(start, stop, rules, layouts, observation, mask, rows, publics, out):
    for block in range(start, stop):
        public = publics[block]
        for i in range(block, len(rows), BLOCKS):
            row = rows[i]
            hand, _, _ = read_observation(rules[0], layouts[0], observation[row], public)
            cards, others = read_mask(mask[row])
            out[row] = greedy_action(rules[0], public, hand, cards, others)


@kernel(inline=False)
def _expert_rows(start, stop, rules, numbers, layouts, observation, mask, rows, publics, minds, out):
    for block in range(start, stop):
        public, mind = publics[block], minds[block]
        for i in range(block, len(rows), BLOCKS):
            row = rows[i]
            hand, _, discards = read_observation(rules[0], layouts[0], observation[row], public)
            if not numbers[0].memory:
                forget_tricks(rules[0], public)
                discards = np.int64(0)
            cards, others = read_mask(mask[row])
            out[row] = expert_action(rules[0], numbers[0], public, hand, discards, cards, others, mind)


# Greedy.


@kernel(inline=False)
def greedy_action(rules, public, hand, legal_cards, legal_others):
    """The action of a player who looks at his own high trumps and at the trick on the table.

    ``public`` is the table as its actor knows it, ``hand`` the actor's; the masks are those of ``engine.legal``.
    """
    if public.phase == Phase.BID:
        return greedy_bid(rules, hand, legal_others)
    if public.phase == Phase.TRUMP:
        return TRUMP + greedy_suit(rules, hand)
    if public.phase == Phase.PLAY:
        return greedy_play(rules, public, hand, legal_cards)
    return greedy_throw(rules, public, hand, legal_cards, legal_others)


@kernel
def greedy_strength(rules, hand, suit):
    """The points that a hand may hope for in a suit: one for the ace, half for a king, a quarter a trump."""
    trumps = hand & rules.trumps[suit]
    strength = 0.25 * count(trumps)
    if trumps & bit(13 * suit + ACE):
        strength += 1.0
    if trumps & bit(13 * suit + KING):
        strength += 0.5
    return strength if trumps & SUIT_MASKS[suit] else -1.0


@kernel(inline=False)
def greedy_suit(rules, hand):
    """The best suit for trump."""
    best = np.int64(0)
    for suit in range(4):
        if (rules.suit_set >> suit) & 1 and (
            not (rules.suit_set >> best) & 1 or greedy_strength(rules, hand, suit) > greedy_strength(rules, hand, best)
        ):
            best = np.int64(suit)
    return best


@kernel
def greedy_bid(rules, hand, legal_others):
    """The lowest legal bid, if the hand is worth it; else a pass, or where that is not legal the lowest bid."""
    calls = legal_others >> (PASS - TRUMP)
    bids = calls & ~1
    if not bids:
        return np.int64(PASS)
    low = lowest(bids)
    if calls & 1 and greedy_strength(rules, hand, greedy_suit(rules, hand)) < low:
        return np.int64(PASS)
    return PASS + low


@kernel
def greedy_rank(rules, card, trump):
    """A card's rank for one who wants to keep the high ones: plain cards by rank, then trumps."""
    if trump != NOBODY and bit(card) & rules.trumps[trump]:
        return 13 + trump_power(card, trump)
    return np.int64(card) % 13


@kernel(inline=False)
def greedy_extreme(rules, cards, trump, sign):
    """The lowest card of a mask that is not empty (sign 1), or the highest (sign -1)."""
    best = lowest(cards)
    while cards:
        card = lowest(cards)
        cards &= cards - 1
        if sign * greedy_rank(rules, card, trump) < sign * greedy_rank(rules, best, trump):
            best = card
    return best


@kernel(inline=False)
def greedy_throw(rules, public, hand, legal_cards, legal_others):
    """Exchange and discard the lowest plain cards; keep trumps when exchanging."""
    if public.phase == Phase.EXCHANGE:
        plain = legal_cards & ~rules.trumps[public.trump]
        if not plain or count(hand) <= rules.keep:
            return nth_legal(np.int64(0), legal_others, 0) if legal_others else lowest(legal_cards)
        return greedy_extreme(rules, plain, public.trump, 1)
    trump = np.int64(public.trump)
    return greedy_extreme(rules, legal_cards, trump if trump != NOBODY else greedy_suit(rules, hand), 1)


@kernel(inline=False)
def greedy_play(rules, public, hand, legal_cards):
    """Lead the highest card; take a trick with points in it as cheaply as possible; else play the lowest card."""
    first = public.trick * rules.players
    if public.num_played == first:
        if public.trump != NOBODY:
            return greedy_extreme(rules, legal_cards, public.trump, -1)
        suit = greedy_suit(rules, hand)
        pitch = legal_cards & SUIT_MASKS[suit]
        return greedy_extreme(rules, pitch if pitch else legal_cards, suit, -1)
    winner = trick_winner(rules, public)
    led = led_suit(rules, public.history[first], public.trump)
    best, worth = np.int64(-1), np.int64(0)
    for i in range(first, public.num_played):
        card = public.history[i]
        best = max(best, power(rules, card, public.trump, led))
        worth += CARD_POINTS[card] + (3 if bit(card) & rules.trumps[public.trump] else 0)
    winning = np.int64(0)
    rest = legal_cards
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        if power(rules, card, public.trump, led) > best:
            winning |= bit(card)
    if winning and worth > 2 and team_of(rules, winner) != team_of(rules, public.actor):
        return greedy_extreme(rules, winning, public.trump, 1)
    return greedy_extreme(rules, legal_cards, public.trump, 1)
