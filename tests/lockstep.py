"""Checks of one game against the plain rules of ``plain.py``, for tests and for ``soak.py``."""

import random
from collections import Counter

from plain import Table, deck
from strategies import random_step

from pitch_env import Game, Rules
from pitch_env.actions import NUM_ACTIONS, parse_action
from pitch_env.cards import card_text


def table_of(game: Game) -> Table:
    """The plain table with the cards that have just been dealt."""
    players = range(game.rules.players)
    return Table(game.rules, [game.hand(seat) for seat in players], game.widow, game.dealer, game.scores)


def assert_same(game: Game, table: Table) -> None:
    """Everything that the game shows is as on the plain table."""
    seats = range(game.rules.players)
    assert (game.phase, game.actor, game.dealer) == (table.phase, table.actor, table.dealer)
    assert set(game.legal()) == table.legal()
    assert game.calls == table.calls
    assert game.bid == (int(table.bid) if table.bid and table.bid != "moon" else table.bid)
    assert game.pitcher == (None if table.phase == "bid" else table.pitcher)
    assert game.trump == table.trump
    assert [set(game.hand(seat)) for seat in seats] == table.hands
    assert [set(game.discards(seat)) for seat in seats] == table.discards
    assert game.exchanged == table.exchanged
    assert game.widow == table.widow
    assert game.trick == table.trick
    assert game.tricks == table.tricks
    assert game.leading == (table.leading() if table.trick else None)
    assert game.scores == table.scores


def assert_same_result(game: Game, table: Table) -> None:
    """The deal that has just ended came out as on the plain table."""
    result = game.last_deal
    assert result is not None
    assert (result.dealer, result.pitcher, result.trump) == (table.dealer, table.pitcher, table.trump)
    assert game.scores == table.scores
    if table.pitcher is None:
        assert (result.made, result.moon, result.bid) == (None, None, None)
        assert not result.items
        assert not any(result.points + result.score_change + result.card_points)
        return
    assert result.items == table.items()
    assert result.points == table.points()
    assert result.card_points == table.card_points()
    assert result.tricks == table.tricks
    assert result.made == table.made
    assert result.moon == (table.made if table.bid == "moon" else None)
    assert result.score_change == table.change


def assert_sound(game: Game) -> None:
    """What must hold at any time, whatever the rules."""
    rules, mask = game.rules, game.legal_mask()
    seats = range(rules.players)
    piles = [game.hand(seat) for seat in seats] + [game.discards(seat) for seat in seats] + [game.widow]
    played = [card for _, cards in game.tricks for _, card in cards] + [card for _, card in game.trick]
    cards = Counter(card for pile in [*piles, played] for card in pile)
    assert cards == Counter(deck(rules))
    assert mask.shape == (NUM_ACTIONS,)
    assert mask.any() == (game.actor is not None) == (game.phase != "over")
    assert mask.nonzero()[0].tolist() == game.legal_ids()
    assert [parse_action(text) for text in game.legal()] == game.legal_ids()


def play_in_lockstep(rules: Rules, seed: int, chance: int, deals: int = 3, samples: float = 0) -> Game:
    """A whole random game, on the plain table too, checked before and after each action.

    ``samples`` is how often the hidden cards are drawn anew and checked as well.
    """
    game = Game(rules, seed, deals)
    rng = random.Random(chance)
    table, played = table_of(game), 0
    while game.actor is not None:
        assert_sound(game)
        assert_same(game, table)
        if rng.random() < samples:
            assert_consistent(game.determinize(rng.randrange(rules.players), rng.randrange(2**32)))
        action = random_step(game, rng)
        text = game.legal()[game.legal_ids().index(action)]
        dealer = game.dealer
        game.apply(text if rng.random() < 0.5 else action)
        table.apply(text)
        if table.phase != "over":
            continue
        played += 1
        assert game.deals_played == played
        assert_same_result(game, table)
        assert (game.actor is None) == (table.winner is not None or played == deals)
        if game.actor is not None:
            assert game.dealer == (dealer + 1) % rules.players
            table = table_of(game)
    assert_sound(game)
    assert_same(game, table)
    if rules.target is not None:
        assert game.winner == table.winner
    else:
        best = max(game.scores)
        assert game.winner == (game.scores.index(best) if game.scores.count(best) == 1 else None)
    return game


def replay(game: Game) -> Game:
    """The game played again from the cards as dealt, by the actions that led here.

    Which of a player's discards were exchanged and which discarded is not in the record; any choice of cards that he
    was dealt comes to the same.
    """
    rules, public = game.rules, game._public
    seats = range(rules.players)
    widow = [card_text(card) for card in game._state["deck"][: rules.widow_size]]
    scores = [total - change for total, change in zip(game.scores, public["change"], strict=False)]
    again = Game.from_deal(rules, [game.dealt(seat) for seat in seats], widow, game.dealer, scores, deals=1000)
    for _, call in game.calls:
        again.apply(call)
    if again.phase == "trump" and game.trump is not None:
        again.apply(f"trump {game.trump}")
    while again.phase in ("exchange", "discard"):
        seat = int(again.actor or 0)
        if again.phase == "exchange":
            left = game.exchanged[seat] - again.exchanged[seat]
            if left == 0 and (game.phase, game.actor) == ("exchange", seat):
                break
            put_away = [card for card in game.discards(seat) if card in again.hand(seat) and card in game.dealt(seat)]
            again.apply(put_away[0] if left else "done")
        else:
            put_away = [card for card in game.discards(seat) if card in again.hand(seat)]
            if not put_away:
                break
            again.apply(put_away[0])
    for _, cards in [*game.tricks, (0, game.trick)]:
        for seat, card in cards:
            assert again.actor == seat
            again.apply(card)
    return again


def assert_consistent(game: Game) -> None:
    """The whole record, hidden cards and open ones, comes from some deal and some legal actions."""
    again = replay(game)
    for name in ("hands", "dealt", "discards"):
        assert (again._state[name] == game._state[name]).all(), name
    size = game.rules.widow_size
    assert (again._state["deck"][:size] == game._state["deck"][:size]).all()
    for name in game._public.dtype.names:
        if name not in ("deals", "deals_limit"):
            assert (again._public[name] == game._public[name]).all(), name
