"""Search: an agent that plays its actions out on deals as they may lie.

Perfect-information Monte Carlo: for each decision deals are drawn that the agent's seat holds possible
(search_deals.py), every candidate action is played out on each of them (search_values.py), and the one with the best
mean of relative points is taken. The agent reads observations and masks as every other agent does, so it cannot know
more than they tell.
"""

import hashlib
import re
import time
from pathlib import Path

import numpy as np

from agents.baselines import BLOCKS, as_bytes, checked_mask, read_mask, rows_by_rules
from agents.evaluation import fingerprint
from agents.expert_mind import MIND
from agents.expert_numbers import numbers_of
from agents.search_deals import BELIEF
from agents.search_policy import Policy, set_candidates, try_with_policy
from agents.search_values import SETTINGS, TALLY, start_tally, try_deals
from agents.solver_points import WORK
from agents.solver_table import ENTRY, Table
from pitch_env.kernel import in_parallel, kernel, records, source_hash
from pitch_env.observation import layout, read_observation
from pitch_env.rules import Rules, pack
from pitch_env.state import PUBLIC, STATE

SAMPLES = 100  # deals a decision, by default
FIRST_SAMPLES = 8  # deals before the clock is looked at
FIRST_LOOK = 16  # deals before a candidate is given up
TABLE_BITS = 12  # of the solver's table


class SearchAgent:
    """Plays what does best on deals as they may lie.

    With a budget in samples its choices are the same for the same ``rng``, however a batch is cut and with any number
    of threads; with a policy as far as the policy's are, whose last bits may depend on the size of a batch.

    Args:
        samples: deals tried for a decision, at most: it ends sooner when one action is clearly the best.
        milliseconds: the time for a decision, a mean over the rows of a batch, instead of ``samples``. How many deals
            are tried is up to the machine then, so choices are not repeatable.
        policy: says which actions are tried and plays the deals out, in place of the expert.
        proposals: deals of which each one is chosen by what the others did; 0: all deals that fit are alike.
        odd_call, odd_play: how likely another player's bid or play is taken not to be the expert's.
        doubt: standard errors by which an action must seem better than the reference's to be preferred.
        clear: standard errors by which a candidate must be worse to be tried no further.
        throws: cards that are tried for an exchange or a discard.
        solved_tricks: so many last tricks of a deal are solved with open hands and not played out.
        floor: the probability by the policy from which an action is tried.
        name: what it is called.

    Raises:
        ValueError: a number that is out of its range.
    """

    deals_a_chunk = 8  # of a tournament, so that what takes long can be shared out

    def __init__(
        self,
        samples: int = SAMPLES,
        milliseconds: float | None = None,
        policy: Policy | None = None,
        *,
        proposals: int = 3,
        odd_call: float = 0.2,
        odd_play: float = 0.5,
        doubt: float = 0.5,
        clear: float = 2.5,
        throws: int = 4,
        floor: float = 0.02,
        solved_tricks: int = 0,
        name: str = "search",
    ) -> None:
        if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 1:
            raise ValueError(f"samples={samples!r} is not allowed; it is a whole number from 1")
        if milliseconds is not None and not milliseconds > 0:
            raise ValueError(f"milliseconds={milliseconds!r} is not allowed; it is a number above 0")
        for option, value, low, high in (
            ("proposals", proposals, 0, 1000), ("odd_call", odd_call, 0, 1), ("odd_play", odd_play, 0, 1),
            ("doubt", doubt, 0, 100), ("clear", clear, 0, 100), ("throws", throws, 1, 54),
            ("solved_tricks", solved_tricks, 0, 54), ("floor", floor, 0, 1),
        ):  # fmt: skip
            if not low <= value <= high:
                raise ValueError(f"{option}={value!r} is not allowed; it is from {low} to {high}")
        self.name, self.policy = name, policy
        self.samples, self.milliseconds, self.floor = int(samples), milliseconds, floor
        self._belief, self._settings = records(1, BELIEF), records(1, SETTINGS)
        self._belief[0] = (proposals, odd_call, odd_play)
        self._settings[0] = (throws, doubt, clear, FIRST_LOOK, solved_tricks)
        budget = f"{samples} deals" if milliseconds is None else f"{milliseconds} ms"
        player = "expert" if policy is None else fingerprint(policy)
        code = f"{source_hash(Path(__file__))} {budget} {player} {floor} {self._belief[0]} {self._settings[0]}"
        self.fingerprint = hashlib.sha256(code.encode()).hexdigest()[:16]

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``. Raises ValueError where a row has no legal action or no rules."""
        mask = checked_mask(observation, mask)
        seeds = rng.integers(2**64, size=len(mask), dtype=np.uint64)
        codes, actions = as_bytes(observation), np.zeros(len(mask), np.int64)
        for rules, rows in rows_by_rules(observation):
            actions[rows] = self.think(rules, codes[rows], mask[rows], seeds[rows])["action"]
        return actions

    def think(self, rules: Rules, codes: np.ndarray, mask: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """What is thought of the candidates in some situations.

        Args:
            rules: of all of them.
            codes: uint8 [N, D], observations.
            mask: bool [N, 71].
            seeds: uint64 [N], the chance of each.

        Returns:
            TALLY records [N].
        """
        tallies, blocks = records(len(codes), TALLY), min(BLOCKS, len(codes))
        minds, publics, states = records(blocks, MIND), records(blocks, PUBLIC), records(3 * blocks, STATE)
        tables = records(blocks << TABLE_BITS, ENTRY), records(blocks, WORK)
        packed = pack(rules), numbers_of(rules), self._settings, layout(rules)
        in_parallel(
            _start_rows, blocks, blocks, *packed, codes, mask, publics, minds, tallies, weight=len(codes) / blocks
        )
        if self.policy:
            set_candidates(self.policy, codes, mask, self.floor, tallies)
        until = 0
        start = time.perf_counter()
        while not tallies["done"].all():
            more = self.more_samples(until, time.perf_counter() - start, len(codes))
            if more <= 0:
                break
            until += more
            if self.policy:
                thought = *packed, self._belief, codes, seeds, publics, states, minds
                rows = np.flatnonzero(tallies["done"] == 0)
                try_with_policy(rules, thought, rows, self.policy, int(seeds[0]), until, tallies)
            else:
                in_parallel(
                    _search_rows, blocks, blocks, *packed, self._belief, codes, seeds, until, publics, states, minds,
                    *tables, tallies, weight=100 * len(codes) * more / blocks,
                )  # fmt: skip
        return tallies

    def more_samples(self, until: int, passed: float, rows: int) -> int:
        """How many more deals to try after ``until`` for each of ``rows``, ``passed`` seconds after the beginning."""
        if self.milliseconds is None:
            return self.samples - until
        if not until:
            return FIRST_SAMPLES
        left = rows * self.milliseconds / 1000 - passed
        return int(min(until, left * until / max(passed, 1e-6)))


def search_agent(text: str) -> SearchAgent:
    """The agent of a name: ``search``, then optionally a budget, then optionally a policy.

    ``search:200`` tries up to 200 deals a decision, ``search:50ms`` thinks for 50 milliseconds, ``search:20:auction``
    uses the policy of that name or path. Raises ValueError.
    """
    from agents.agent import load

    _, *parts = text.split(":", 2)
    budget = re.fullmatch(r"(\d+)(ms)?", parts[0]) if parts else None
    if (parts and not budget) or (budget and not int(budget[1])):
        raise ValueError(f"no agent {text!r}; a search is 'search', 'search:200' (deals) or 'search:50ms', from 1 on")
    policy: Policy | None = None
    if len(parts) > 1:
        named = load(parts[1])
        if not isinstance(named, Policy):
            raise ValueError(f"{parts[1]!r} cannot be the policy of a search; a trained agent can")
        if not getattr(named, "stochastic", True):
            raise ValueError(
                f"{parts[1]!r} cannot be the policy of a search: it is sure of one action and tries no other"
            )
        policy = named
    samples, milliseconds = SAMPLES, None
    if budget and budget[2]:
        milliseconds = float(budget[1])
    elif budget:
        samples = int(budget[1])
    return SearchAgent(samples, milliseconds, policy, name=text)


@kernel(inline=False)
def _start_rows(
    start, stop, blocks, rules, numbers, settings, layouts, observation, mask, publics, minds, tallies
):  # fmt: skip
    for block in range(start, stop):
        public, mind = publics[block], minds[block]
        for row in range(block, len(mask), blocks):
            hand, _, discards = read_observation(rules[0], layouts[0], observation[row], public)
            cards, others = read_mask(mask[row])
            start_tally(rules[0], numbers[0], settings[0], public, hand, discards, cards, others, mind, tallies[row])


@kernel(inline=False)
def _search_rows(
    start, stop, blocks, rules, numbers, settings, layouts, belief, observation, seeds, until, publics, states, minds,
    entries, works, tallies,
):  # fmt: skip
    for block in range(start, stop):
        public, mind = publics[block], minds[block]
        table = Table(entries[block << TABLE_BITS : (block + 1) << TABLE_BITS], works[block : block + 1])
        for row in range(block, len(seeds), blocks):
            if not tallies[row].done:
                hand, dealt, discards = read_observation(rules[0], layouts[0], observation[row], public)
                try_deals(
                    rules[0], numbers[0], settings[0], belief[0], public, hand, dealt, discards, seeds[row], until,
                    states[3 * block : 3 * block + 3], table, mind, tallies[row],
                )  # fmt: skip
