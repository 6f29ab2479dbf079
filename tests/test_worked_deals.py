"""Whole deals worked out elsewhere, with their right results, through both doors of the engine."""

import json
from pathlib import Path

import numpy as np
import pytest

from pitch_env import Game, Rules, VectorGame
from pitch_env.actions import parse_action
from pitch_env.state import NOBODY, Item

DEALS = json.loads((Path(__file__).parent / "cases" / "deals.json").read_text())

each_deal = pytest.mark.parametrize("deal", DEALS, ids=[deal["title"].replace(" ", "-") for deal in DEALS])


def opened(deal: dict) -> Game:
    rules = Rules.preset(deal["preset"], **deal["overrides"])
    return Game.from_deal(rules, deal["hands"], deal["widow"], deal["dealer"])


@each_deal
def test_game(deal: dict) -> None:
    game = opened(deal)
    for seat, action in deal["actions"]:
        assert game.actor == seat
        assert action in game.legal()
        game.apply(action)
    assert game.actor is None
    assert game.phase == "over"
    result, expected = game.last_deal, dict(deal["expect"])
    assert result is not None
    assert [winner for winner, _ in result.tricks] == expected.pop("trick_winners")
    for name, value in expected.items():
        assert getattr(result, name) == value, name
    assert game.scores == expected["score_change"]


@each_deal
def test_vector_game(deal: dict) -> None:
    game, expected = opened(deal), deal["expect"]
    rules = game.rules
    batch = VectorGame(rules, num_games=1, deals=1)
    batch.states[:] = game._states
    batch.refresh()
    for i, (seat, action) in enumerate(deal["actions"]):
        assert batch.actor[0] == seat
        assert batch.mask[0, parse_action(action)]
        reward, done = batch.step(np.array([parse_action(action)]))
        assert done[0] == (i == len(deal["actions"]) - 1)
        assert done[0] or not reward.any()
    last = batch.last[0]
    assert reward[0].tolist() == [expected["score_change"][rules.team_of(seat)] for seat in range(rules.players)]
    assert last["change"][: rules.teams].tolist() == expected["score_change"]
    assert last["points"][: rules.teams].tolist() == expected["points"]
    items = {item.name.lower(): int(last["items"][item]) for item in Item if last["items"][item] != NOBODY}
    assert items == expected["items"]
    assert last["pitcher"] == expected["pitcher"]
    assert bool(last["made"]) == expected["made"]
    assert last["leaders"][1 : rules.keep + 1].tolist() == expected["trick_winners"]
