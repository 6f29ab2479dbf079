"""Showing a game: what is in the text and the picture, and that neither tells a viewer what his seat does not know."""

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitch_env import Game, Rules, render

TABLES = [
    Rules.preset("money", players=8),
    Rules.preset("auction", players=2),
    Rules.preset("auction", players=7),
    Rules.preset("auction_pairs"),
    Rules.preset("oklahoma"),
    Rules.preset("oklahoma", widow="unused"),
    Rules.preset("oklahoma", players=6, three=True),
    Rules.preset("money", players=3, forced_bid="throw_in"),
    Rules(players=2, hand_size=26, keep=26, jokers=2, packet=2),
]


def positions(rules, seed, deals=2):
    """The game after each action of random play, the same object all the time."""
    game, rng = Game(rules, seed, deals), np.random.default_rng(seed)
    yield game
    while game.actor is not None:
        game.apply(int(rng.choice(game.legal_ids())))
        yield game


def rows(game, viewer=None):
    """The row of each seat of the text."""
    lines = render.text(game, viewer).splitlines()
    return [
        next(line for line in lines if re.match(rf".{{3}}  player_{seat}\b", line))
        for seat in range(game.rules.players)
    ]


CARD = re.compile("[2-9TJQKA][♣♦♥♠]|[+-]J")


# No leak.


@given(st.sampled_from(TABLES), st.integers(0, 10**6), st.integers(0, 200), st.data())
def test_what_a_viewer_sees_is_the_same_for_all_deals_that_he_cannot_tell_apart(rules, seed, moves, data):
    for number, game in enumerate(positions(rules, seed)):
        if number == moves or game.actor is None:
            break
    seat = data.draw(st.integers(0, rules.players - 1))
    other = game.determinize(seat, data.draw(st.integers(0, 100)))
    assert render.text(game, seat) == render.text(other, seat)
    if moves % 5 == 0:
        np.testing.assert_array_equal(render.draw(game, seat, (200, 150)), render.draw(other, seat, (200, 150)))


@pytest.mark.parametrize("rules", TABLES)
def test_the_text_shows_a_viewer_his_own_cards_and_how_many_the_others_hold(rules):
    for number, game in enumerate(positions(rules, 3)):
        if number % 7:
            continue
        viewer = number % rules.players
        for seat, row in enumerate(rows(game, viewer)):
            table = [render.card_symbol(card) for who, card in game.trick if who == seat]
            hand = (
                [render.card_symbol(card) for card in game.hand(seat) + game.discards(seat)] if seat == viewer else []
            )
            assert sorted(CARD.findall(row)) == sorted(table + hand)
            assert row.count("??") == (0 if seat == viewer else len(game.hand(seat)))


def test_without_a_viewer_all_hands_lie_open():
    for game in positions(TABLES[4], 1):
        for seat, row in enumerate(rows(game)):
            assert {render.card_symbol(card) for card in game.hand(seat)} <= set(CARD.findall(row))


def test_pictures_differ_by_hidden_cards_only_without_a_viewer():
    game = Game(TABLES[3], 0, deals=1)
    other = game.determinize(0, 1)
    assert other.hand(1) != game.hand(1)
    assert (render.draw(game) != render.draw(other)).any()
    np.testing.assert_array_equal(render.draw(game, 0), render.draw(other, 0))


@pytest.mark.parametrize("show", [render.text, render.draw])
def test_a_viewer_who_is_not_there_is_refused(show):
    with pytest.raises(ValueError, match="seat"):
        show(Game(TABLES[3], 0), viewer=4)


# Text.


def test_the_text_of_a_deal_from_the_auction_to_the_result():
    rules = Rules.preset("auction", players=2)
    hands = [["AS", "KS", "QS", "JS", "TS", "2S"], ["AH", "9H", "8C", "JH", "TH", "2H"]]
    game = Game.from_deal(rules, hands, dealer=1, scores=[3, -2])
    game.apply("3")
    assert render.text(game) == (
        "deal 1 of 1 · dealer player_1 · bid 3 by player_0\n"
        "player_1 to bid\n"
        "\n"
        "               score  tricks  points  calls  table  hand\n"
        "     player_0      3       0       0  3             A♠ K♠ Q♠ J♠ T♠ 2♠\n"
        ">D   player_1     -2       0       0                A♥ J♥ T♥ 9♥ 2♥ 8♣"
    )
    for action in ("pass", "AS"):
        game.apply(action)
    assert render.text(game, viewer=0) == (
        "deal 1 of 1 · dealer player_1 · bid 3 by player_0 · trump ♠ · trick 1 of 6\n"
        "player_1 to play\n"
        "\n"
        "                     score  tricks  points  calls  table  hand\n"
        "  P  player_0 (you)      3       0       0  3      A♠*    K♠ Q♠ J♠ T♠ 2♠\n"
        ">D   player_1           -2       0       0  pass          ?? ?? ?? ?? ?? ??"
    )
    for action in ("TH", "KS", "2H", "QS", "9H", "JS", "JH", "TS", "8C", "2S", "AH"):
        game.apply(action)
    assert render.text(game) == (
        "deal 1 of 1 · dealer player_1 · bid 3 by player_0 · trump ♠\n"
        "game over, player_0 wins\n"
        "\n"
        "               score  tricks  points  calls  table  hand\n"
        "  P  player_0      7       6      35  3\n"
        " D   player_1     -2       0       0  pass\n"
        "\n"
        "trick 6, won by player_0: player_0 2♠  player_1 A♥\n"
        "\n"
        "player_0 bid 3 and made it\n"
        "high player_0, low player_0, jack player_0, game player_0\n"
        "player_0 +4, player_1 +0"
    )


def test_the_text_names_what_is_going_on_in_every_position():
    for rules in TABLES:
        for game in positions(rules, 5):
            shown = render.text(game)
            assert f"dealer player_{game.dealer}" in shown
            assert (game.actor is None) == ("game over" in shown)
            if game.actor is not None:
                assert f"player_{game.actor} to " in shown
                assert rows(game)[game.actor].startswith(">")
            if game.trump:
                assert f"trump {render.SYMBOLS[game.trump]}" in shown
            if game.bid is not None:
                assert f"bid {game.bid} by player_" in shown
            for seat, row in enumerate(rows(game)):
                assert str(game.scores[rules.team_of(seat)]) in row
                assert (row[1] == "D") == (seat == game.dealer)
                assert (row[2] == "P") == (seat == game.pitcher)
                assert " ".join(render.calls_of(game, seat)) in row
            for seat, card in game.trick:
                mark = "*" if seat == game.leading else ""
                assert f"{render.card_symbol(card)}{mark} " in rows(game)[seat] + " "


def test_the_result_of_a_deal_is_shown_until_the_next_begins():
    shown = 0
    for game in positions(Rules.preset("money"), 2, deals=3):
        has_result = "made it" in render.text(game) or "was set" in render.text(game)
        fresh = game.actor is None or not game.calls
        assert has_result == (fresh and game.last_deal is not None)
        shown += has_result
    assert shown == 3


def test_a_deal_thrown_in_is_named():
    game = Game(Rules.preset("money", players=3, forced_bid="throw_in"), 0, deals=1)
    for _ in range(3):
        game.apply("pass")
    assert "all passed, the deal was thrown in" in render.text(game)
    render.draw(game)


def test_hands_are_held_trumps_first_and_high_to_low():
    rules = Rules.preset("oklahoma")
    game = Game(rules, 0)
    while game.phase == "bid":
        game.apply(game.legal()[0])
    cards = ["2S", "AH", "JC", "-J", "JS", "TS", "+J", "KD", "AD", "AC"]
    assert render.in_order(game, cards) == ["+J", "-J", "JS", "TS", "2S", "AH", "AC", "JC", "AD", "KD"]
    game.apply("trump S")
    assert render.in_order(game, cards) == ["JS", "JC", "+J", "-J", "TS", "2S", "AH", "AC", "AD", "KD"]


def test_color_adds_nothing_but_escapes():
    for game in positions(TABLES[4], 8):
        colored = render.text(game, color=True)
        assert re.sub(r"\x1b\[\d+m", "", colored) == render.text(game)
        for red in re.findall(r"\x1b\[31m(.*?)\x1b\[39m", colored):
            assert red[-1] in "♦♥"
        assert not re.search("[^m][2-9TJQKA][♦♥]", colored)
        assert (game.actor is None) == ("\x1b[1m>" not in colored)


# Pictures.


@pytest.mark.parametrize("rules", TABLES)
def test_every_position_can_be_drawn(rules):
    for number, game in enumerate(positions(rules, 4)):
        if number % 11 == 0 or game.actor is None:
            image = render.draw(game, size=(160, 120))
            assert image.shape == (120, 160, 3)
            assert image.dtype == np.uint8
            assert len(np.unique(image)) > 20


def test_a_picture_has_the_size_asked_for_and_is_the_same_every_time():
    game = Game(TABLES[0], 0, deals=1)
    assert render.draw(game).shape == (600, 800, 3)
    np.testing.assert_array_equal(render.draw(game), render.draw(game))
    for width, height in ((1, 1), (37, 500), (1024, 300)):
        assert render.draw(game, size=(width, height)).shape == (height, width, 3)
    with pytest.raises(ValueError, match="size"):
        render.draw(game, size=(0, 600))


def test_what_changes_at_the_table_changes_the_picture():
    game = Game(TABLES[3], 1, deals=1)
    before = render.draw(game)
    while game.actor is not None:
        game.apply(game.legal_ids()[-1])
        after = render.draw(game)
        assert (before != after).any()
        before = after


def test_no_two_seats_overlap():
    for players in range(2, 9):
        game = Game(Rules.preset("money", players=players), 0, deals=1)
        places = [render._seat_at(game, seat, viewer=1) for seat in range(players)]
        for i, one in enumerate(places):
            assert 0 <= one.x <= 800 - one.width
            assert 26 <= one.y <= 600 - one.height
            for two in places[:i]:
                apart = abs(one.x - two.x) >= one.width, abs(one.y - two.y) >= one.height
                assert any(apart)
        assert max(place.y for place in places) == places[1].y  # the viewer sits at the bottom


# And neither touches anything.


def test_showing_changes_nothing():
    for number, game in enumerate(positions(TABLES[6], 1, deals=1)):
        if number % 10 == 0:
            before = game.to_bytes()
            render.text(game)
            render.draw(game, size=(80, 60))
            assert game.to_bytes() == before


def test_pillow_is_imported_when_something_is_drawn():
    code = "import sys, pitch_env.render; print(sorted({'PIL', 'matplotlib', 'pettingzoo'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_symbols_stand_for_the_cards_they_show():
    assert [render.card_symbol(card) for card in ("AS", "TD", "2C", "JH", "+J", "-J")] == [
        "A♠", "T♦", "2♣", "J♥", "+J", "-J",
    ]  # fmt: skip
