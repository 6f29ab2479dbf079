"""What the tests draw: rules of every kind, and games in the middle of anything."""

import dataclasses
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from pitch_env import Game, Rules

RANKS, SUITS = "23456789TJQKA", "CDHS"

# Every preset with every number of players, and every option of the rule pages.
VARIANTS: dict[str, Rules] = {
    **{f"money-{n}": Rules.preset("money", players=n) for n in range(2, 9)},
    **{f"auction-{n}": Rules.preset("auction", players=n) for n in range(2, 8)},
    "auction-15": Rules.preset("auction", target=15, winner="maker", min_bid=2, steal=False),
    "pairs": Rules.preset("auction_pairs"),
    "pairs-6": Rules.preset("auction", players=6, pairs=True, forced_bid="throw_in", hand_size=8),
    "pairs-8": Rules.preset("money", players=8, pairs=True, follow="must_follow"),
    "oklahoma": Rules.preset("oklahoma"),
    "oklahoma-three": Rules.preset("oklahoma", three=True, follow="must_trump"),
    "oklahoma-ten": Rules.preset("oklahoma", game="ten", first_lead="trump", follow="must_follow"),
    "oklahoma-unused": Rules.preset("oklahoma", widow="unused", both_out="highest"),
    "oklahoma-6": Rules.preset("oklahoma", players=6),
    "oklahoma-6-must": Rules.preset("oklahoma", players=6, follow="must_trump", three=True, first_lead="trump"),
    "pitch-jokers": Rules.preset("money", jokers=2, off_jack=True, low_to="holder"),
    "short": Rules.preset("auction", players=3, ranks="9TJQKA", hand_size=4, moon=True),
    "tiny": Rules.preset("auction", players=2, ranks="TJQ", suits="CS", hand_size=2, off_jack=True),
    "all-cards": Rules.preset("money", players=2, jokers=2, off_jack=True, hand_size=27, trump="named", three=True),
}


def draw_rules(pick: Callable[[Sequence[Any]], Any]) -> Rules:
    """Rules that can be played, every field open; ``pick`` chooses one of a sequence."""
    ranks = pick((RANKS, RANKS, "89TJQKA", "9TJQKA", "3TJA", None))
    if ranks is None:
        chosen = pick(range(1, 1 << 13))
        ranks = "".join(rank for i, rank in enumerate(RANKS) if chosen >> i & 1)
    suits = pick((SUITS, SUITS, SUITS, "CDH", "CS", "DS", "H"))
    jokers = pick((0, 2))
    deck = len(ranks) * len(suits) + jokers
    players = pick(range(2, min(8, deck) + 1)) if deck > 1 else 2
    if deck < players:
        ranks, deck = RANKS, 13 * len(suits) + jokers
    hand_size = pick(range(1, min(deck // players, pick((4, 7, 10, 27))) + 1))
    widow = pick(("none", "none", "unused", "pitcher", "exchange"))
    keep = hand_size if widow == "none" else pick(range(1, hand_size + 1))
    trump = "named" if jokers and keep < 3 else pick(("pitch", "named"))
    fields: dict[str, Any] = dict(
        players=players, pairs=players in (4, 6, 8) and pick((True, False)), ranks=ranks, suits=suits, jokers=jokers,
        hand_size=hand_size, packet=pick(range(1, hand_size + 1)), auction=pick(("once", "until_passed")),
        moon_value=pick((4, 0, 7)), steal=pick((True, False)), forced_bid=pick(("exact", "at_least", "throw_in")),
        trump=trump, widow=widow, exchange=pick(range(1, hand_size + 1)), keep=keep, first_lead=pick(("any", "trump")),
        follow=pick(("may_trump", "must_follow", "must_trump")), off_jack=pick((True, False)),
        three=pick((True, False)), game=pick(("count", "count", "ten")), low_to=pick(("winner", "holder")),
        target=pick((None, 1, 3, 7, 21)), winner=pick(("pitcher", "maker", "any")),
        both_out=pick(("pitcher", "highest")), stake_cents=pick((10, 7)), moon_cents=pick((100, 33)),
    )  # fmt: skip
    lowest = Rules(**fields, min_bid=1, max_bid=1, forced_bid_value=1)
    can_moon = "J" in ranks and (fields["game"] == "count" or "T" in ranks)
    max_bid = pick(range(1, min(10, lowest.max_points) + 1))
    min_bid = pick(range(1, max_bid + 1))
    forced = pick(range(min_bid, max_bid + 1))
    return dataclasses.replace(
        lowest, max_bid=max_bid, min_bid=min_bid, forced_bid_value=forced, moon=can_moon and pick((True, False))
    )


def random_rules(rng: random.Random) -> Rules:
    return draw_rules(rng.choice)


@st.composite
def any_rules(draw: st.DrawFn) -> Rules:
    """A named variant, or rules with every field open."""
    if draw(st.booleans()):
        return draw(st.sampled_from(list(VARIANTS.values())))
    return draw_rules(lambda options: draw(st.sampled_from(options)))


seeds = st.integers(0, 2**64 - 1)


def examples(times: float) -> settings:
    """So many times the usual number of examples."""
    return settings(max_examples=int(times * settings().max_examples))


def random_step(game: Game, rng: random.Random) -> int:
    """A random legal action. Of the bids the low ones mostly, so that auctions are long."""
    actions = game.legal_ids()
    if game.phase == "bid" and len(actions) > 1 and rng.random() < 0.7:
        return actions[rng.randrange(2)]
    return rng.choice(actions)


def walk(game: Game, rng: random.Random, decisions: int = 10**9) -> Iterator[Game]:
    """The game before each of its random decisions, the same object all the time."""
    for _ in range(decisions):
        if game.actor is None:
            return
        yield game
        game.apply(random_step(game, rng))


def play_to(game: Game, rng: random.Random, decisions: int) -> Game:
    """The game after so many random decisions, or before its last one."""
    before = game
    for _ in range(decisions):
        before = game.clone()
        game.apply(random_step(game, rng))
        if game.actor is None:
            return before
    return game


@st.composite
def positions(draw: st.DrawFn) -> Game:
    """A game that is not over, anywhere in its first three deals."""
    rules = draw(any_rules())
    game = Game(rules, draw(seeds), deals=3)
    length = (rules.players * (3 + rules.hand_size + (rules.hand_size if rules.widow != "none" else 0))) * 2
    return play_to(game, random.Random(draw(seeds)), draw(st.integers(0, length)))


def chi_square(counts: Mapping[Any, int], weights: Mapping[Any, float]) -> float:
    """How surprising the counts are if chances are as the weights, in standard deviations (Wilson and Hilferty, 1931).

    What has no weight must not have been seen.
    """
    assert counts.keys() <= weights.keys(), counts.keys() - weights.keys()
    scale = sum(counts.values()) / sum(weights.values())
    statistic = sum((counts.get(key, 0) - weight * scale) ** 2 / (weight * scale) for key, weight in weights.items())
    spread = 2 / (9 * (len(weights) - 1))
    return ((statistic / (len(weights) - 1)) ** (1 / 3) - (1 - spread)) / spread**0.5
