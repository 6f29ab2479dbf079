"""The state of one game: a record of what everyone at the table knows inside a record of everything.

``PUBLIC`` is the knowledge that all players share. Whatever encodes, describes or samples a player's view receives
it, a seat, and that seat's own cards, and nothing else: a kernel written for ``PUBLIC`` does not compile for ``STATE``.
"""

from enum import IntEnum

import numpy as np

from pitch_env.cards import NUM_CARDS
from pitch_env.kernel import kernel
from pitch_env.rules import MAX_PLAYERS, MAX_TRICKS

NOBODY = -1  # no seat, no team, no suit, and "neither yes nor no"
MAX_CALLS = 32  # 11 bids, each stolen once, and 8 passes at most


class Phase(IntEnum):
    """What the actor decides. ``OVER``: the deal has been scored, and no card is left to play."""

    BID, TRUMP, EXCHANGE, DISCARD, PLAY, OVER = range(6)


class Item(IntEnum):
    """What a point is given for (rules.md, 6)."""

    HIGH, LOW, JACK, GAME, OFF_JACK, HIGH_JOKER, LOW_JOKER, THREE = range(8)


ITEM_WORTH = np.array([1, 1, 1, 1, 1, 1, 1, 3], np.int8)

PUBLIC = np.dtype(
    [
        ("played", "<i8"),  # mask of all cards played in this deal
        ("deals", "<i4"),  # deals that have been finished
        ("deals_limit", "<i4"),  # deals after which the game ends; 0: no limit
        ("phase", "i1"),  # a Phase
        ("game_over", "i1"),  # 1: no further deal follows
        ("winner", "i1"),  # the team that won the game, or NOBODY
        ("actor", "i1"),  # the seat to act, or NOBODY when the deal is over
        ("dealer", "i1"),
        ("passed", "u1"),  # bit s: seat s has passed
        ("num_calls", "i1"),
        ("calls", "i1", (MAX_CALLS,)),  # in order from the dealer's left: 0 pass, 1..10 bids, 11 the moon
        ("bid", "i1"),  # the highest call so far, then the standing bid; 0: none
        ("pitcher", "i1"),  # who made it, or NOBODY
        ("trump", "i1"),  # suit, or NOBODY while it is not known
        ("widow_left", "i1"),  # cards that lie in the widow (or out of play)
        ("exchanged", "i1", (MAX_PLAYERS,)),  # cards that each seat put away for others from the widow
        ("discarded", "i1", (MAX_PLAYERS,)),  # cards that each seat put away, the exchanged ones included
        ("cards", "i1", (MAX_PLAYERS,)),  # cards in each hand
        ("num_played", "i1"),
        ("history", "i1", (NUM_CARDS,)),  # the cards played, in order
        ("trick", "i1"),  # tricks that have been finished
        ("leaders", "i1", (MAX_TRICKS + 1,)),  # who led each trick, the current one included: the winner of the last
        ("voids", "u1", (MAX_PLAYERS,)),  # bit s: the seat's plays have shown that it holds nothing of suit s
        ("tricks_won", "i1", (MAX_PLAYERS,)),  # by team
        ("card_points", "i1", (MAX_PLAYERS,)),  # by team, in its tricks
        ("items", "i1", (len(Item),)),  # the team that each item went to, or NOBODY; set when the deal is over
        ("points", "i1", (MAX_PLAYERS,)),  # by team, of the deal that is over
        ("made", "i1"),  # 1: the bid was made, 0: set, NOBODY: not over yet, or thrown in
        ("change", "<i2", (MAX_PLAYERS,)),  # of the score by team, of the deal that is over
        ("scores", "<i2", (MAX_PLAYERS,)),  # by team
    ],
    align=True,
)

STATE = np.dtype(
    [
        ("rng", "<u8"),  # the generator that deals, see chance.py
        ("hands", "<i8", (MAX_PLAYERS,)),  # masks
        ("dealt", "<i8", (MAX_PLAYERS,)),  # masks of the hands as dealt
        ("discards", "<i8", (MAX_PLAYERS,)),  # masks of what each seat put away, exchanged or discarded
        ("deck", "i1", (NUM_CARDS,)),  # the cards not dealt, the widow, from its top; the first are drawn first
        ("unused", "u1", (2,)),  # no gap in memory, so that equal games are equal bytes
        ("public", PUBLIC),
    ],
    align=True,
)


@kernel
def copy_entries(source, target):
    """Copy as many entries as ``target`` has. A slice would do it too, but may allocate memory."""
    for i in range(len(target)):
        target[i] = source[i]


@kernel
def copy_public(source, target):
    """Copy a ``PUBLIC`` record, which Numba cannot do as a whole."""
    target.played, target.deals, target.deals_limit = source.played, source.deals, source.deals_limit
    target.phase, target.game_over, target.winner = source.phase, source.game_over, source.winner
    target.actor, target.dealer, target.passed = source.actor, source.dealer, source.passed
    target.num_calls, target.bid, target.pitcher = source.num_calls, source.bid, source.pitcher
    copy_entries(source.calls, target.calls)
    target.trump, target.widow_left = source.trump, source.widow_left
    copy_entries(source.exchanged, target.exchanged)
    copy_entries(source.discarded, target.discarded)
    copy_entries(source.cards, target.cards)
    target.num_played, target.trick = source.num_played, source.trick
    copy_entries(source.history, target.history)
    copy_entries(source.leaders, target.leaders)
    copy_entries(source.voids, target.voids)
    copy_entries(source.tricks_won, target.tricks_won)
    copy_entries(source.card_points, target.card_points)
    copy_entries(source.items, target.items)
    copy_entries(source.points, target.points)
    target.made = source.made
    copy_entries(source.change, target.change)
    copy_entries(source.scores, target.scores)
