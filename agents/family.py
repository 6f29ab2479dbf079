"""One network for several variants: their observations in one common layout, so that a thing has one place in all.

The parts of an observation lie elsewhere in each variant, and bids and leaders are counted differently. In the common
layout every part has the room that the variant with most seats, tricks and suits of cards needs, and a bid has its
place by its number. The rules themselves are a part too, so the network knows which variant it plays.
"""

from collections.abc import Sequence

import numpy as np

from agents.suits import SuitSorter
from pitch_env import Rules
from pitch_env.actions import MOON_CALL
from pitch_env.observation import Part, layout, level_of, num_levels, parts, width
from pitch_env.rules import pack


def common_parts(variants: Sequence[Rules]) -> np.ndarray:
    """Where each part of the common layout begins, and at last its width: int64 [parts + 1]."""
    seats, tricks = max(rules.players for rules in variants), max(rules.keep for rules in variants)
    sizes = np.array([[size for size, _, _ in parts(rules).values()] for rules in variants]).max(0)
    sizes[Part.BIDS], sizes[Part.BID], sizes[Part.LEADERS] = seats * MOON_CALL, MOON_CALL, tricks * seats
    return np.concatenate([[0], np.cumsum(sizes)])


def common_places(rules: Rules, variants: Sequence[Rules]) -> np.ndarray:
    """The place in the common layout of each entry of an observation under one of the variants: int64 [D]."""
    seats = max(each.players for each in variants)
    packed = pack(rules)[0]
    calls = [call for call in range(1, MOON_CALL + 1) if rules.min_bid <= call <= rules.max_bid or call == MOON_CALL]
    level = {int(level_of(packed, call)): call - 1 for call in calls if call != MOON_CALL or rules.moon}
    bid = np.array([level[each] for each in range(num_levels(rules))])
    own = {
        Part.BIDS: (MOON_CALL * np.arange(rules.players)[:, None] + bid).ravel(),
        Part.BID: bid,
        Part.LEADERS: (seats * np.arange(rules.keep)[:, None] + np.arange(rules.players)).ravel(),
    }
    sizes = [size for size, _, _ in parts(rules).values()]
    starts = common_parts(variants)
    return np.concatenate([starts[part] + own.get(part, np.arange(sizes[part])) for part in Part])


def common_highs(variants: Sequence[Rules]) -> np.ndarray:
    """The highest value of each entry of the common layout, uint8 [D]."""
    tables = [parts(rules).values() for rules in variants]
    highest = [max(high for _, high, _ in part) for part in zip(*tables, strict=True)]
    return np.repeat(np.array(highest, np.uint8), np.diff(common_parts(variants)))


class FamilySorter(SuitSorter):
    """Sorts the suits of observations of several variants, and lays them out as the common layout says.

    Raises:
        ValueError: two variants cannot be told apart by an observation.
    """

    def __init__(self, variants: Sequence[Rules]) -> None:
        self.sorters = [SuitSorter(rules) for rules in variants]
        self.places = [common_places(rules, variants) for rules in variants]
        self.codes = np.array([layout(rules)["rules"][0] for rules in variants])
        self.size = int(common_parts(variants)[-1])
        self.action_sources = self.sorters[0].action_sources
        if len(np.unique(self.codes, axis=0)) < len(variants):
            raise ValueError("rules that name the same variant twice are not allowed; each is named once")
        self.narrowest = min(width(rules) for rules in variants)

    def kinds(self, observation: np.ndarray) -> np.ndarray:
        """Which variant each row of uint8 [N, D] is of: int64 [N]; -1 where it is none of them."""
        same = (observation[:, None, : self.codes.shape[1]] == self.codes).all(2)
        return np.where(same.any(1), same.argmax(1), -1)

    def sort(self, observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As ``SuitSorter.sort``, but the observations come back in the common layout, uint8 [N, size].

        Rows that are of none of the variants come back as zeros.
        """
        out = np.zeros((len(observation), self.size), np.uint8)
        out_mask, order = mask.copy(), np.zeros(len(observation), np.int64)
        kinds = self.kinds(observation)
        for kind, (sorter, places) in enumerate(zip(self.sorters, self.places, strict=True)):
            rows = np.flatnonzero(kinds == kind)
            if len(rows):
                one = np.ascontiguousarray(observation[rows, : len(places)])
                out[rows[:, None], places], out_mask[rows], order[rows] = sorter.sort(one, mask[rows])
        return out, out_mask, order

    def even(self, observation: np.ndarray, log_probability: np.ndarray) -> None:
        """As ``SuitSorter.even``, of observations of any of the variants."""
        kinds = self.kinds(observation)
        for kind, (sorter, places) in enumerate(zip(self.sorters, self.places, strict=True)):
            rows = np.flatnonzero(kinds == kind)
            if len(rows):
                levelled = log_probability[rows]
                sorter.even(np.ascontiguousarray(observation[rows, : len(places)]), levelled)
                log_probability[rows] = levelled
