"""Observations: what each part says, that nothing is lost, and that the text of an infoset says the same."""

import dataclasses
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from plain import deck
from strategies import VARIANTS, any_rules, examples, positions, seeds, walk

from pitch_env import Game, Rules, VectorGame, observation
from pitch_env.cards import SUITS, parse_card
from pitch_env.kernel import records
from pitch_env.rules import pack
from pitch_env.state import NOBODY, PUBLIC

PHASES = ("bid", "trump", "exchange", "discard", "play")


def observed(game: Game, viewer: int) -> np.ndarray:
    """The observation as the bytes that the kernel wrote."""
    values = game.observation(viewer)
    assert values.dtype == np.float32
    assert (values == values.astype(np.uint8)).all()
    return values.astype(np.uint8)


# The layout.


@given(any_rules())
def test_parts_tile_the_observation(rules: Rules) -> None:
    game = Game(rules, seed=1, deals=1)
    slices, table = game.observation_parts(), observation.parts(rules)
    assert list(slices) == list(table) == [part.name.lower() for part in observation.Part]
    end = 0
    for name, part in slices.items():
        assert part.start == end
        assert part.stop - part.start == table[name][0]
        end = part.stop
    assert end == observation.width(rules) == len(game.observation(0)) == len(observation.highs(rules))
    assert all(text and 0 < high <= 255 for _, high, text in table.values())


@examples(2)
@given(positions())
def test_values_keep_within_their_limits(game: Game) -> None:
    highs = observation.highs(game.rules)
    assert highs.dtype == np.uint8
    for viewer in range(game.rules.players):
        assert (observed(game, viewer) <= highs).all()


def test_the_longest_game_keeps_within_its_limits() -> None:
    game = Game(VARIANTS["all-cards"], seed=1, deals=1)
    for each in walk(game, random.Random(1)):
        for viewer in range(2):
            assert (observed(each, viewer) <= observation.highs(game.rules)).all()


# What each part says, written from what the game says in text.


def one_hot(size: int, *places: int | None) -> list[int]:
    return [int(place in places) for place in range(size)]


def expected_parts(game: Game, viewer: int) -> dict[str, list[int]]:
    """All parts but the rules."""
    rules, players, teams = game.rules, game.rules.players, game.rules.teams
    bids = [str(bid) for bid in range(rules.min_bid, rules.max_bid + 1)] + ["moon"] * rules.moon
    seats = [(viewer + i) % players for i in range(players)]
    order = [(rules.team_of(viewer) + i) % teams for i in range(teams)]
    tricks = [cards for _, cards in game.tricks] + ([game.trick] if game.trick else [])
    plays = [(seat, card, number) for number, cards in enumerate(tricks, 1) for seat, card in cards]
    leaders = [cards[0][0] for cards in tricks]
    if game.phase == "play" and not game.trick:
        leaders.append(game.actor or 0)
    own = [card for seat, card, _ in plays if seat == viewer]
    held = set(game.hand(viewer)) | set(game.discards(viewer)) | set(own)
    scores = [game.scores[team] for team in order]
    won = [rules.team_of(winner) for winner, _ in game.tricks]
    bidders = [seat for seat, call in game.calls if call != "pass"]
    trick_of = {parse_card(card): number for _, card, number in plays}
    led_by = [seats.index(leader) for leader in leaders] + [None] * (rules.keep - len(leaders))

    def place(seat: int | None) -> int | None:
        return None if seat is None else seats.index(seat)

    def cards(texts: Any) -> list[int]:
        return one_hot(54, *(parse_card(text) for text in texts))

    def cut(numbers: list[int]) -> list[int]:
        return [min(max(number, 0), 255) for number in numbers]

    return {
        "phase": one_hot(5, PHASES.index(game.phase)),
        "actor": one_hot(players, place(game.actor)),
        "dealer": one_hot(players, place(game.dealer)),
        "bids": [int((seat, bid) in game.calls) for seat in seats for bid in bids],
        "passed": [int((seat, "pass") in game.calls) for seat in seats],
        "bid": one_hot(len(bids), bids.index(str(game.bid)) if game.bid else None),
        "pitcher": one_hot(players, place(bidders[-1]) if bidders else None),
        "trump": one_hot(4, SUITS.index(game.trump) if game.trump else None),
        "hand": cards(game.hand(viewer)),
        "drawn": cards(held - set(game.dealt(viewer))) if rules.widow != "none" else [],
        "discards": cards(game.discards(viewer)) if rules.widow != "none" else [],
        "exchanged": [game.exchanged[seat] for seat in seats] if rules.widow == "exchange" else [],
        "cards": [len(game.hand(seat)) for seat in seats],
        "played_by": [bit for each in seats for bit in cards(card for seat, card, _ in plays if seat == each)],
        "trick_of": [trick_of.get(card, 0) for card in range(54)],
        "table": cards(card for _, card in game.trick),
        "leaders": [bit for leader in led_by for bit in one_hot(players, leader)],
        "winning": one_hot(players, place(game.leading)),
        "tricks_won": [won.count(team) for team in order],
        "card_points": [int(game._public["card_points"][team]) for team in order],  # held to plain rules in test_engine
        "score_above": cut(scores),
        "score_below": cut([-score for score in scores]),
        "to_go": cut([rules.target - score if rules.target else 0 for score in scores]),
        "deals_left": cut([(game.deals_limit or 0) - game.deals_played]),
    }  # fmt: skip


@examples(3)
@given(positions())
def test_what_each_part_says(game: Game) -> None:
    slices = game.observation_parts()
    for viewer in range(game.rules.players):
        values = observed(game, viewer)
        for name, expected in expected_parts(game, viewer).items():
            assert values[slices[name]].tolist() == expected, name


@given(positions())
def test_voids_follow_from_the_plays(game: Game) -> None:
    """A suit is marked exactly when no hand with a card of it could have been played like this (see test_sampling)."""
    rules, part = game.rules, game.observation_parts()["voids"]
    marked = observed(game, 0)[part].reshape(rules.players, 4).astype(bool)
    if game.trump is None:
        assert not marked.any()
        return
    trump = SUITS.index(game.trump)
    shown = np.zeros_like(marked)
    tricks = [cards for _, cards in game.tricks] + ([game.trick] if game.trick else [])

    def suit(card: str) -> int:
        number = parse_card(card)
        return trump if int(pack(rules)[0]["trumps"][trump]) >> number & 1 else number // 13

    for number, cards in enumerate(tricks):
        leader, lead = cards[0]
        if number == 0 and rules.trump == "named" and rules.first_lead == "trump" and suit(lead) != trump:
            shown[leader, trump] = True
        for seat, card in cards[1:]:
            if suit(card) == suit(lead) or (suit(card) == trump and rules.follow != "must_follow"):
                continue
            shown[seat, suit(lead)] = True
            if rules.follow == "must_trump":
                shown[seat, trump] = True
    assert (marked == shown).all()


# Nothing is lost: the record, seen from the viewer's chair, can be read back.


def turned(public: np.ndarray, rules: Rules, viewer: int) -> np.ndarray:
    """The public record with the viewer as seat 0, and what observations do not tell left out."""
    seats = [(viewer + i) % rules.players for i in range(rules.players)]
    teams = [(rules.team_of(viewer) + i) % rules.teams for i in range(rules.teams)]
    record = np.array([public])[0]
    for name in ("actor", "dealer", "pitcher"):
        record[name] = NOBODY if public[name] == NOBODY else seats.index(int(public[name]))
    record["leaders"] = [NOBODY if seat == NOBODY else seats.index(seat) for seat in public["leaders"]]
    record["passed"] = sum(1 << i for i, seat in enumerate(seats) if public["passed"] >> seat & 1)
    for name in ("exchanged", "discarded", "cards", "voids"):
        record[name][: rules.players] = public[name][seats]
    for name in ("tricks_won", "card_points", "scores"):
        record[name][: rules.teams] = public[name][teams]
    record["scores"] = record["scores"].clip(-255, 255)
    limit = int(public["deals_limit"])
    record["deals"], record["deals_limit"] = 0, min(limit - int(public["deals"]), 255) if limit else 0
    return record


def read(rules: Rules, values: np.ndarray, garbage: int = 0) -> tuple[np.ndarray, tuple[int, int, int]]:
    """The record that an observation is read into, whatever was in it before, and the viewer's masks."""
    public = records(1, PUBLIC)
    public.view(np.uint8)[:] = garbage
    masks = observation.read_observation(pack(rules)[0], observation.layout(rules)[0], values, public[0])
    return public[0], masks


@examples(3)
@given(positions())
def test_reading_gives_back_what_was_written(game: Game) -> None:
    rules = game.rules
    for viewer in range(rules.players):
        expected = turned(game._public, rules, viewer)
        for garbage in (0, 85):
            public, masks = read(rules, observed(game, viewer), garbage)
            assert masks == game._view(viewer)[1:]
            for name in PUBLIC.names or ():
                size = len(expected[name]) if expected[name].ndim else 0
                if garbage and name in ("exchanged", "discarded", "cards", "voids"):
                    size = rules.players  # what lies beyond the seats is nobody's business
                same = public[name][:size] == expected[name][:size] if size else public[name] == expected[name]
                assert np.all(same), name


@pytest.mark.parametrize("score", [254, 255, 256, 10_000])
def test_scores_beyond_a_byte_are_cut(score: int) -> None:
    plain = Game(VARIANTS["pairs"], seed=1)
    hands = [plain.hand(seat) for seat in range(4)]
    game = Game.from_deal(plain.rules, hands, scores=[score, -score], deals=None)
    parts, cut = game.observation_parts(), min(score, 255)
    for viewer in range(4):
        values = observed(game, viewer)
        above, below = values[parts["score_above"]].tolist(), values[parts["score_below"]].tolist()
        assert (above, below) == (([cut, 0], [0, cut]) if viewer % 2 == 0 else ([0, cut], [cut, 0]))
        assert read(game.rules, values)[0]["scores"][:2].tolist() == [above[0] - below[0], above[1] - below[1]]


@given(positions())
def test_the_rules_can_be_read_back(game: Game) -> None:
    values = game.observation(0)
    same = dataclasses.replace(game.rules, stake_cents=Rules().stake_cents, moon_cents=Rules().moon_cents)
    assert observation.rules_of(values) == observation.rules_of(values.astype(np.uint8)) == same


def test_what_is_no_observation_is_refused() -> None:
    values = Game(VARIANTS["oklahoma"], seed=1).observation(0)
    for wrong in (values * 0, values[:2], values[:10], values + 1, values - 1, values * 0 + 255, values * np.nan):
        with pytest.raises(ValueError, match="this is not an observation: its first"):
            observation.rules_of(wrong)


# The same for all who look.


@given(positions())
def test_the_same_whoever_is_to_act(game: Game) -> None:
    """The actor's row of a batch is what ``Game.observation`` gives for that seat, as for any other."""
    batch = VectorGame(game.rules, num_games=1, deals=3)
    batch.states[:] = game._states
    batch.refresh()
    assert (batch.observation[0] == observed(game, int(game.actor or 0))).all()
    for viewer in range(game.rules.players):
        assert (batch.observe(viewer)[0] == observed(game, viewer)).all()


# Knowledge.


def knowledge(game: Game, viewer: int) -> str:
    """All that a seat knows (rules.md, 11)."""
    own = (game.hand(viewer), game.dealt(viewer), game.discards(viewer))
    shared = (game.calls, game.trump, game.exchanged, [len(game.hand(seat)) for seat in range(game.rules.players)])
    deal = (game.dealer, game.phase, game.actor, game.scores, game.deals_played, game.deals_limit)
    return repr((game.rules, viewer, own, shared, deal, game.tricks, game.trick))


SMALL: dict[str, Any] = dict(hand_size=2, packet=1, keep=1, max_bid=2)
TINY = [
    VARIANTS["tiny"],
    Rules(players=2, ranks="TJ", widow="exchange", exchange=1, trump="named", target=3, **SMALL),
    Rules(players=3, ranks="TJ", widow="pitcher", target=2, auction="until_passed", **SMALL),
    Rules(players=4, pairs=True, ranks="JQ", suits="CS", target=2, **{**SMALL, "hand_size": 1}),
]


def test_observation_infoset_and_knowledge_tell_the_same_apart() -> None:
    """In games so small that the same situations come again and again."""
    meanings: dict[tuple, Any] = {}
    looks = 0
    for seed in range(800):
        game = Game(TINY[seed % len(TINY)], seed % 23, deals=2)
        for each in walk(game, random.Random(seed)):
            for viewer in range(each.rules.players):
                looks += 1
                text, known = each.infoset(viewer), knowledge(each, viewer)
                # An observation is turned to the viewer and counts deals from the end: it does not tell his seat.
                seen = (repr(each.rules), viewer, each.deals_played, each.observation(viewer).tobytes())
                for way, (one, other) in enumerate(((text, known), (known, text), (seen, text), (text, seen))):
                    assert meanings.setdefault((way, one), other) == other
    assert len(meanings) < 3 * looks  # of at most 4: many have been met again


@given(positions(), seeds)
def test_infoset_of_a_sampled_deal(game: Game, chance: int) -> None:
    for viewer in range(game.rules.players):
        drawn = game.determinize(viewer, chance % 2**32)
        assert drawn.infoset(viewer) == game.infoset(viewer)
        assert knowledge(drawn, viewer) == knowledge(game, viewer)
        for other in range(game.rules.players):
            assert (drawn.infoset(other) == game.infoset(other)) == (knowledge(drawn, other) == knowledge(game, other))


def test_infosets_of_seats_and_rules_differ() -> None:
    games = [Game(rules, seed=5, deals=1) for rules in VARIANTS.values()]
    texts = {game.infoset(seat) for game in games for seat in range(game.rules.players)}
    assert len(texts) == sum(game.rules.players for game in games)


@given(positions())
def test_everything_done_shows(game: Game) -> None:
    """Perfect recall: whatever the actor does, he sees another thing afterwards."""
    viewer = int(game.actor or 0)
    views = [game.observation(viewer).tobytes()]
    for action in game.legal():
        played = game.clone()
        played.apply(action)
        if played.deals_played == game.deals_played:
            views.append(played.observation(viewer).tobytes())
    assert len(set(views)) == len(views)


def test_a_deck_of_its_own() -> None:
    """Only cards of the deck ever show."""
    for rules in VARIANTS.values():
        game = Game(rules, seed=2, deals=1)
        part = game.observation_parts()["hand"]
        cards = {parse_card(card) for card in deck(rules)}
        for seat in range(rules.players):
            assert set(np.nonzero(game.observation(seat)[part])[0].tolist()) <= cards
