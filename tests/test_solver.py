"""The solver against a plain search of everything, which knows no bounds, no table and no equivalent cards."""

import inspect
import math
import random
import re
from collections.abc import Iterator

import numpy as np
import pytest
from strategies import VARIANTS, random_rules, walk

from agents.returns import relative
from agents.solver import NO_VALUE, Solver, solve_plays, solve_value
from agents.solver_table import hash_deal, new_table
from pitch_env import Game, Rules
from pitch_env.actions import parse_action
from pitch_env.kernel import kernel, records
from pitch_env.rules import RULES, pack
from pitch_env.state import STATE


def plain_values(game: Game, team: int) -> dict[str, float]:
    """The value after each legal card, from all the ways to play on."""
    values = {}
    for action in game.legal():
        after = game.clone()
        after.apply(action)
        values[action] = plain_value(after, team)
    return values


def plain_value(game: Game, team: int) -> float:
    rules = game.rules
    if game.last_deal is not None:
        return relative(np.array(game.last_deal.score_change, float), rules)[team]
    return best(game, team, plain_values(game, team))


def best(game: Game, team: int, values: dict[str, float]) -> float:
    mine = game.actor is not None and game.rules.team_of(game.actor) == team
    return max(values.values()) if mine else min(values.values())


def endings(rules: Rules, rng: random.Random, lines: int) -> Iterator[Game]:
    """The positions of one random deal from which there are at most so many ways to play on, if all cards were free."""
    for game in walk(Game(rules, rng.randrange(2**60), deals=1), rng):
        if game.phase == "play":
            ways = math.prod(math.factorial(len(game.hand(seat))) for seat in range(rules.players))
            if ways <= lines:
                yield game


def check(game: Game, solver: Solver, team: int) -> None:
    wanted = plain_values(game, team)
    assert solver.values(game, team) == pytest.approx(wanted, abs=1e-9), (game.rules, game)
    assert solver.value(game, team) == pytest.approx(best(game, team, wanted), abs=1e-9), (game.rules, game)


@pytest.mark.parametrize("name", VARIANTS)
def test_endings_of_every_variant_for_every_team(name: str) -> None:
    rng = random.Random(name)
    rules = VARIANTS[name]
    solver = Solver(rules, table_bits=10)
    for _ in range(6):
        for game in endings(rules, rng, 60):
            for team in range(rules.teams):
                check(game, solver, team)


def test_endings_of_random_rules() -> None:
    rng = random.Random(5)
    for _ in range(150):
        rules = random_rules(rng)
        solver = Solver(rules, rng.choice((0, 3, 10)))
        for game in endings(rules, rng, 40):
            check(game, solver, rng.randrange(rules.teams))


# Whole small deals, the pitch included, in which cards are equivalent and points lie close to each other.
SHORT = [
    Rules.preset("auction", players=2, hand_size=4, ranks="9TJQKA", suits="CS", off_jack=True),
    Rules.preset("auction", players=2, hand_size=4, ranks="23TJA", suits="CS", three=True, low_to="holder", game="ten"),
    Rules.preset("auction", players=3, hand_size=3, ranks="23TJQKA", suits="CDH", jokers=2, off_jack=True),
    Rules.preset("auction_pairs", hand_size=2, ranks="23TJQKA", suits="CD", follow="must_trump"),
    Rules.preset("money", players=3, hand_size=3, ranks="2TJA", suits="CDS"),
    Rules.preset("oklahoma", hand_size=3, keep=2, exchange=1, ranks="23TJA", three=True, first_lead="trump"),
]


@pytest.mark.parametrize("rules", SHORT)
def test_short_deals_from_the_first_lead(rules: Rules) -> None:
    rng = random.Random(1)
    solver = Solver(rules, table_bits=8)
    for _ in range(6):
        for game in walk(Game(rules, rng.randrange(2**60), deals=1), rng):
            if game.phase == "play":
                check(game, solver, rng.randrange(rules.teams))
                break


def test_moons() -> None:
    """The moon is bid in every deal, which random auctions seldom do."""
    rng = random.Random(3)
    made = set()
    for rules in (
        Rules.preset("money", players=2, hand_size=4, ranks="9TJQKA", suits="CS"),
        Rules.preset("money", players=2, hand_size=4, ranks="6789TJQKA", suits="H", moon_value=0),
        Rules.preset("money", players=3, hand_size=3, ranks="29TJA", suits="CH", game="ten"),
    ):
        solver = Solver(rules, table_bits=8)
        for _ in range(10):
            game = Game(rules, rng.randrange(2**60), deals=1)
            game.apply("moon")
            check(game, solver, rng.randrange(rules.teams))
            for _ in walk(game, rng):
                pass
            assert game.last_deal
            made.add(game.last_deal.moon)
    assert made == {True, False}


def first_leads(rules: Rules, deals: int) -> Iterator[Game]:
    rng = random.Random(2)
    for seed in range(deals):
        for game in walk(Game(rules, seed, deals=1), rng):
            if game.phase == "play":
                yield game
                break


@pytest.mark.parametrize("name", ["auction-4", "pairs", "oklahoma", "money-3"])
def test_the_size_of_the_table_and_what_lies_in_it_change_nothing(name: str) -> None:
    rules = VARIANTS[name]
    small, large = Solver(rules, table_bits=1), Solver(rules, table_bits=18)
    for game in first_leads(rules, 6):
        values = Solver(rules).values(game)
        assert small.values(game) == large.values(game) == values
        assert large.values(game) == values  # from a full table
        assert small.value(game) == large.value(game) == max(values.values())


def test_one_table_for_other_rules_and_teams() -> None:
    """What is in the table of a deal is not found for the same cards under another bid, rule or team."""
    shared = new_table(12)
    names = ("auction-4", "auction-15", "short", "pairs", "money-4")
    variants = [
        *(VARIANTS[name] for name in names),
        Rules.preset("auction", low_to="holder"),
        Rules.preset("auction", follow="must_follow"),
    ]
    for seed in range(4):
        for rules in variants:
            for calls in ("1", "2"):
                game = Game(rules, seed, deals=1)
                while game.phase == "bid":
                    game.apply(calls if calls in game.legal() and game.bid is None else game.legal()[0])
                while len(game.hand(game.actor or 0)) > 4:
                    game.apply(game.legal()[0])
                for team in range(rules.teams):
                    solver = Solver(rules)
                    wanted = solver.values(game, team)
                    solver._table = shared
                    assert solver.values(game, team) == wanted


def test_every_rule_of_the_play_is_in_the_key() -> None:
    """A new field of the rules belongs into the hash of a deal, unless the play and its points do not depend on it."""
    source = inspect.getsource(getattr(hash_deal, "py_func", hash_deal))
    by_other_names = {"pairs", "jokers", "off_jack"}  # which teams and trumps tell
    before_the_play = {
        *("hand_size", "packet", "auction", "min_bid", "max_bid", "moon", "steal", "forced_bid_value", "forced_bid"),
        *("trump", "widow", "exchange", "suit_set", "rank_set", "widow_size", "highest_call", "deck_size", "deck"),
    }
    after_the_deal = {"target", "winner", "both_out"}
    assert RULES.names
    missing = set(RULES.names) - set(re.findall(r"rules\.(\w+)", source))
    assert missing == by_other_names | before_the_play | after_the_deal


def test_renaming_suits_and_seats_changes_nothing() -> None:
    """Turning the table and exchanging hearts with diamonds and clubs with spades gives the same values."""
    rules = VARIANTS["oklahoma"]
    solver = Solver(rules)
    renamed = str.maketrans("CDHS", "SHDC")
    for seed in range(5):
        game = Game(rules, seed, deals=1)
        hands, widow = [game.hand(seat) for seat in range(4)], game.widow
        twin = Game.from_deal(
            rules,
            [[card.translate(renamed) for card in hands[seat - 1]] for seat in range(4)],
            [card.translate(renamed) for card in widow],
            dealer=(game.dealer + 1) % 4,
        )
        rng = random.Random(seed)
        while game.phase != "play":
            action = rng.choice(game.legal())
            game.apply(action)
            twin.apply(action.translate(renamed))
        values = solver.values(game)
        assert solver.values(twin) == {card.translate(renamed): value for card, value in values.items()}


def test_playing_the_best_card_keeps_the_value() -> None:
    """From the first lead to the last card, for a team against the rest; at the end it is what was scored."""
    for name in ("auction-3", "auction-4", "pairs", "oklahoma", "money-3"):
        rules = VARIANTS[name]
        solver = Solver(rules)
        for game in first_leads(rules, 2):
            team = rules.teams - 1
            value = solver.value(game, team)
            while game.actor is not None:
                values = solver.values(game, team)
                assert best(game, team, values) == value
                game.apply(next(card for card, here in values.items() if here == value))
            assert game.last_deal
            assert relative(np.array(game.last_deal.score_change, float), rules)[team] == pytest.approx(value)


def test_a_deal_that_can_be_seen() -> None:
    """The pitcher holds all but the deuce of trumps: high, low, jack and game are his, and the ten comes home."""
    rules = Rules.preset("auction_pairs")
    hands = [[rank + suit for rank in ranks] for suit, ranks in zip("SHCD", ("AKQJT9", *["345678"] * 3), strict=True)]
    hands[1][0] = "2S"
    game = Game.from_deal(rules, hands, dealer=3)
    game.apply("4")
    solver = Solver(rules)
    values = solver.values(game)
    assert set(values.values()) == {4.0}
    assert solver.value(game, team=1) == -4.0
    assert all(type(value) is float for value in values.values())


# The kernels, as another kernel calls them.


@kernel(inline=False)
def call_both(rules, states, team, table, values):
    solve_plays(rules[0], states, team, table, values)
    return solve_value(rules[0], states, team, table)


def test_kernels_only_read_the_position() -> None:
    rules = VARIANTS["auction-4"]
    solver = Solver(rules)
    states, values, table = records(56, STATE), np.zeros(54, np.int64), new_table(10)
    for game in first_leads(rules, 3):
        states[:1] = game._states
        before = states[:1].tobytes()
        value = call_both(pack(rules), states, 1, table, values)
        assert states[:1].tobytes() == before
        legal = [parse_action(action) for action in game.legal()]
        assert np.flatnonzero(values != NO_VALUE).tolist() == legal
        wanted = solver.values(game, 1)
        assert [values[card] / 3 for card in legal] == [wanted[action] for action in game.legal()]
        assert value / 3 == solver.value(game, 1)


# What is refused.


def test_refused() -> None:
    rules = Rules.preset("auction")
    with pytest.raises(ValueError, match=r"table_bits=99 is not allowed; .* 0 to 28"):
        Solver(rules, table_bits=99)
    with pytest.raises(ValueError, match=r"rules='auction' is not allowed"):
        Solver("auction")  # type: ignore[arg-type]
    solver, game = Solver(rules), Game(rules, 1, deals=1)
    with pytest.raises(ValueError, match="phase 'bid' cannot be solved"):
        solver.values(game)
    with pytest.raises(ValueError, match=r"other rules than the solver: follow='must_follow', not 'may_trump'"):
        solver.value(Game(Rules.preset("auction", follow="must_follow"), 1, deals=1))
    with pytest.raises(ValueError, match="it is a Game"):
        solver.value("game")  # type: ignore[arg-type]
    for game in first_leads(rules, 1):
        for team in (4, -1, True, "0"):
            with pytest.raises(ValueError, match=r"teams are 0 to 3"):
                solver.value(game, team)  # type: ignore[arg-type]
        for _ in walk(game, random.Random(0)):
            pass
        with pytest.raises(ValueError, match="phase 'over' cannot be solved"):
            solver.values(game)
