"""Suits have no names: observations and actions with the suits in a canonical order.

No rule tells one suit from another, save that the off-jack ties the suits of a colour together. So before a network
sees an observation, the suits are sorted, trump first and then by what the viewer holds, and what it chooses is turned
back. Situations that differ by the names of suits only become one, and it learns from each what it would have had to
learn up to 24 times.
"""

import itertools

import numpy as np

from pitch_env import Rules
from pitch_env.actions import NUM_ACTIONS, TRUMP
from pitch_env.cards import NUM_CARDS
from pitch_env.kernel import in_parallel, kernel
from pitch_env.observation import Part, layout, parts

# Orders of the suits: the suit in each place. Places 0 and 3, 1 and 2 are of one colour, as the suits C S, D H are.
ORDERS = np.array(list(itertools.permutations(range(4))), np.int64)
_CARD_PARTS = (Part.HAND, Part.DRAWN, Part.DISCARDS, Part.PLAYED_BY, Part.TRICK_OF, Part.TABLE)
_SUIT_PARTS = (Part.TRUMP, Part.VOIDS)
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_S5, _S13, _S19, _S45 = (np.uint64(shift) for shift in (5, 13, 19, 45))


class SuitSorter:
    """Sorts the suits of observations of given rules.

    Attributes:
        at: int64, where each part of an observation begins.
        colours: whether the order keeps the suits of a colour together.
        sources: int64 [24, D], where each entry of a sorted observation comes from, for each order.
        action_sources: int64 [24, 71], the action in the game for each action by sorted suits.
        order_of_code: int64 [256], the place in ``ORDERS`` of what ``sorted_suits`` returns; -1 for what it never does.
    """

    def __init__(self, rules: Rules) -> None:
        self.at = layout(rules)["at"][0].copy()
        self.colours = rules.off_jack
        self.sources = np.array([_observation_sources(rules, order) for order in ORDERS])
        self.action_sources = np.array([_action_sources(order) for order in ORDERS])
        self.order_of_code = np.full(256, -1)
        self.order_of_code[ORDERS @ (64, 16, 4, 1)] = np.arange(len(ORDERS))

    def sort(self, observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Observations and masks with sorted suits.

        Args:
            observation: uint8 [N, D].
            mask: bool [N, 71].

        Returns:
            New arrays of the same kind, and the order of each row: int64 [N], places in ``ORDERS``.
        """
        out, out_mask = np.empty_like(observation), np.empty_like(mask)
        order = np.empty(len(observation), np.int64)
        in_parallel(
            _sort, len(observation), self.at, self.colours, self.order_of_code, self.sources, self.action_sources,
            observation, mask, out, out_mask, order,
        )  # fmt: skip
        return out, out_mask, order

    def actions(self, chosen: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The actions in the game for actions chosen by sorted suits: int64 [N]."""
        return self.action_sources[order, chosen]

    def even(self, observation: np.ndarray, log_probability: np.ndarray) -> None:
        """Give actions that differ by suits alike to the viewer the same share of a policy, in place.

        Which of two such suits stands first says nothing, but a network sees them in different places.

        Args:
            observation: uint8 [N, D], not sorted.
            log_probability: float32 [N, 71], of the actions in the game.
        """
        in_parallel(_even, len(observation), self.at, self.colours, observation, log_probability)

    def unsort(self, values: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Values of actions by sorted suits, [N, 71], as values of the actions in the game."""
        out = np.empty_like(values)
        np.put_along_axis(out, self.action_sources[order], values, 1)
        return out


def _observation_sources(rules: Rules, order: np.ndarray) -> np.ndarray:
    """Where each entry of a sorted observation comes from: int64 [D]."""
    at = layout(rules)["at"][0]
    sources = np.arange(at[len(Part)])
    for part, block, moved in (
        *((part, NUM_CARDS, _action_sources(order)[:NUM_CARDS]) for part in _CARD_PARTS),
        *((part, 4, order) for part in _SUIT_PARTS),
    ):
        size = parts(rules)[part.name.lower()][0]
        for start in range(at[part], at[part] + size, block):
            sources[start : start + block] = start + moved
    return sources


def _action_sources(order: np.ndarray) -> np.ndarray:
    """The action in the game for each action by sorted suits: int64 [71]."""
    sources = np.arange(NUM_ACTIONS)
    for place, suit in enumerate(order):
        sources[13 * place : 13 * place + 13] = 13 * suit + np.arange(13)
        sources[TRUMP + place] = TRUMP + suit
    return sources


CARD_SOURCES = np.array([_action_sources(order)[:NUM_CARDS] for order in ORDERS])  # [24, 54], as action_sources


@kernel
def suit_held(at, observation, suit):
    """Of a suit the number of the viewer's cards, and their ranks, a bit each."""
    held, ranks = np.uint64(0), np.uint64(0)
    for card in range(at[Part.HAND] + 13 * suit, at[Part.HAND] + 13 * suit + 13):
        here = np.uint64(observation[card])
        held += here
        ranks = (ranks << np.uint64(1)) | here
    return held, ranks


@kernel
def suit_digest(at, observation, suit):
    """A digest of all that the viewer sees of a suit beside his cards.

    A sum, modulo 2**64, of entries of the observation times numbers that depend on their places alone, as are the sums
    of ``suit_held``.
    """
    digest = np.uint64(observation[at[Part.TRUMP] + suit])
    for card in range(13 * suit, 13 * suit + 13):
        digest = digest * _PRIME + np.uint64(observation[at[Part.TRICK_OF] + card])
        for start in range(at[Part.PLAYED_BY] + card, at[Part.TRICK_OF], NUM_CARDS):
            digest = digest * _PRIME + np.uint64(observation[start])
        for start in range(at[Part.DRAWN] + card, at[Part.EXCHANGED], NUM_CARDS):
            digest = digest * _PRIME + np.uint64(observation[start])
    for start in range(at[Part.VOIDS] + suit, at[Part.TRICKS_WON], 4):
        digest = digest * _PRIME + np.uint64(observation[start])
    return digest


@kernel
def suit_rank(at, observation, suit):
    """The first part of the key of a suit, which settles the order of most: trump, the viewer's cards, their ranks."""
    held, ranks = suit_held(at, observation, suit)
    return ((np.uint64(observation[at[Part.TRUMP] + suit]) << _S5 | held) << _S13) | ranks


@kernel
def suit_key(at, observation, suit):
    """What a suit is sorted by: ``suit_rank``, then all else, as a digest.

    Two suits with the same key look the same to the viewer, so either order gives the same sorted observation.
    """
    return suit_rank(at, observation, suit) << _S45 | suit_digest(at, observation, suit) >> _S19


@kernel
def write_keys(at, observation, keys):
    """Write what the suits are sorted by, the digest only where two suits would tie without it."""
    for suit in range(4):
        keys[suit] = suit_rank(at, observation, suit)
    for suit in range(4):
        for other in range(suit):
            if keys[suit] == keys[other]:
                for each in range(4):
                    keys[each] = suit_key(at, observation, each)
                return


@kernel
def alike(keys, colours, one, other):
    """Whether exchanging names of suits, one for the other, can leave all that the viewer sees as it is."""
    if keys[one] != keys[other]:
        return False
    return not colours or one + other == 3 or keys[3 - one] == keys[3 - other]  # 3 - suit: the other of its colour


@kernel
def sorted_suits(keys, colours):
    """The code of the order by falling keys: the suits in places 0 to 3, two bits each."""
    if colours:
        black = (np.int64(0), np.int64(3)) if keys[0] >= keys[3] else (np.int64(3), np.int64(0))
        red = (np.int64(1), np.int64(2)) if keys[1] >= keys[2] else (np.int64(2), np.int64(1))
        black_first = keys[black[0]] > keys[red[0]]
        if keys[black[0]] == keys[red[0]]:
            black_first = keys[black[1]] >= keys[red[1]]
        one, two = (black, red) if black_first else (red, black)
        return one[0] << 6 | two[0] << 4 | two[1] << 2 | one[1]
    code = np.int64(0)
    for suit in range(4):
        place = np.int64(0)
        for other in range(4):
            place += keys[other] > keys[suit] or (keys[other] == keys[suit] and other < suit)
        code |= np.int64(suit) << (6 - 2 * place)
    return code


@kernel(inline=False, allocates=True)
def _sort(start, stop, at, colours, order_of_code, sources, actions, observation, mask, out, out_mask, order):
    keys = np.zeros(4, np.uint64)
    for i in range(start, stop):
        write_keys(at, observation[i], keys)
        order[i] = order_of_code[sorted_suits(keys, colours)]
        source = sources[order[i]]
        for j in range(len(source)):
            out[i, j] = observation[i, source[j]]
        for j in range(NUM_ACTIONS):
            out_mask[i, j] = mask[i, actions[order[i], j]]


@kernel(inline=False, allocates=True)
def _even(start, stop, at, colours, observation, log_probability):
    keys, share = np.zeros(4, np.uint64), np.zeros(4)
    for i in range(start, stop):
        for suit in range(4):
            keys[suit] = suit_key(at, observation[i], suit)
        tied = False
        for suit in range(4):
            for other in range(suit):
                tied |= keys[suit] == keys[other]
        if not tied:
            continue
        for rank in range(14):  # the fourteenth is naming the suit
            first, step = (rank, 13) if rank < 13 else (TRUMP, 1)
            for suit in range(4):
                share[suit] = np.exp(log_probability[i, first + step * suit])
            for suit in range(4):
                total, number = 0.0, 0
                for other in range(4):
                    if alike(keys, colours, suit, other):
                        total, number = total + share[other], number + 1
                if number > 1 and total > 0:
                    log_probability[i, first + step * suit] = np.log(total / number)
