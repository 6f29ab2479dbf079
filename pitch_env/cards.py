"""Cards: ids 0 to 53, suits, ranks, 64-bit masks and text (rules.md, 1).

A card's id is ``suit * 13 + rank`` with suits C D H S = 0..3 and ranks 2..A = 0..12; the jokers are 52 (high) and 53
(low). A set of cards is an ``int64`` with one bit a card.
"""

from collections.abc import Iterable

import numpy as np

from pitch_env.kernel import kernel

SUITS = "CDHS"
RANKS = "23456789TJQKA"
NUM_CARDS = 54

THREE, TEN, JACK, QUEEN, KING, ACE = (RANKS.index(rank) for rank in "3TJQKA")
HIGH_JOKER, LOW_JOKER = 52, 53

CARD_TEXT = tuple(rank + suit for suit in SUITS for rank in RANKS) + ("+J", "-J")
CARD_ID = {text: card for card, text in enumerate(CARD_TEXT)}

ALL_CARDS = np.int64((1 << NUM_CARDS) - 1)
JOKERS = np.int64((1 << HIGH_JOKER) | (1 << LOW_JOKER))
SUIT_MASKS = np.array([((1 << 13) - 1) << (13 * suit) for suit in range(4)], np.int64)

# What a card adds to its taker's count for the game point (rules.md, 6).
CARD_POINTS = np.array([{"T": 10, "A": 4, "K": 3, "Q": 2, "J": 1}.get(text[0], 0) for text in CARD_TEXT], np.int8)
CARD_POINTS[[HIGH_JOKER, LOW_JOKER]] = 0


_1, _2, _4, _56 = (np.uint64(shift) for shift in (1, 2, 4, 56))
_PAIRS, _FOURS, _BYTES, _ONES = (np.uint64(byte * 0x0101010101010101) for byte in (0x55, 0x33, 0x0F, 0x01))


@kernel
def bit(card):
    """The mask of one card."""
    return np.int64(1) << np.int64(card)


@kernel
def suit_of(card):
    """The printed suit, 0..3; 4 for a joker."""
    return np.int64(card) // 13


@kernel
def count(mask):
    """How many cards a mask holds."""
    # The parallel sum of bits in pairs, fours and bytes; in this form LLVM knows it and emits one popcount.
    bits = np.uint64(mask)
    bits = bits - ((bits >> _1) & _PAIRS)
    bits = (bits & _FOURS) + ((bits >> _2) & _FOURS)
    bits = (bits + (bits >> _4)) & _BYTES
    return np.int64((bits * _ONES) >> _56)


@kernel
def lowest(mask):
    """The lowest card id of a mask that is not empty."""
    return count((mask & -mask) - 1)


@kernel
def nth(mask, n):
    """The n-th lowest card id of a mask, counted from 0."""
    for _ in range(n):
        mask &= mask - 1
    return lowest(mask)


def cards_in(mask: int) -> list[int]:
    """The card ids of a mask, lowest first."""
    mask, cards = int(mask) & (2**64 - 1), []  # a negative mask would have no end of bits
    while mask:
        low = mask & -mask
        cards.append(low.bit_length() - 1)
        mask ^= low
    return cards


def mask_of(cards: Iterable[int]) -> int:
    """The mask of some card ids."""
    return sum(1 << card for card in set(cards))


def card_text(card: int) -> str:
    return CARD_TEXT[card]


def parse_card(text: str) -> int:
    """The id of a card's text such as ``"TD"`` or ``"+J"``; case does not matter. Raises ValueError."""
    card = CARD_ID.get(text.strip().upper()) if isinstance(text, str) else None
    if card is None:
        raise ValueError(f"{text!r} is not a card; a card is a rank of {RANKS} and a suit of {SUITS}, or +J or -J")
    return card
