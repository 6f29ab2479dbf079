"""Duplicate matches and the command line that plays them."""

import json
import math
import sys
from collections import Counter

import numpy as np
import pytest

from agents import cli, load
from agents.evaluation import duplicate_match, play_duplicates
from pitch_env import Game, Rules, record


class First:
    """Always takes the first legal action, so it plays the same deal the same way."""

    def __init__(self, name="first"):
        self.name = name

    def act(self, observation, mask, rng):
        return np.asarray(mask).argmax(1)


@pytest.mark.parametrize("name", Rules.presets())
def test_an_agent_against_itself_is_exactly_even_when_it_plays_without_chance(name):
    match = duplicate_match(Rules.preset(name), First("a"), First("b"), 20)
    assert match.mean == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", Rules.presets())
def test_random_against_random_is_zero_within_its_interval(name):
    match = duplicate_match(Rules.preset(name), load("random"), load("random"), 300, seed=4)
    assert match.low < 0 < match.high
    assert not match.clear


@pytest.mark.parametrize("name", Rules.presets())
def test_a_play_is_the_game_that_its_seed_deals_with_the_agent_in_each_team(name):
    rules = Rules.preset(name)
    points, last = play_duplicates(
        rules, load("random"), First(), np.array([5, 6], np.uint64), np.random.default_rng(0)
    )
    assert len(points) == 2 * rules.teams
    for index, table in enumerate(last):
        game = Game(rules, seed=5 + index // rules.teams, deals=1)
        assert table["dealer"] == game.dealer
        by_team = table["change"][: rules.teams].astype(float)
        mine = index % rules.teams
        assert points[index] == pytest.approx(by_team[mine] - np.delete(by_team, mine).mean())


def test_the_interval_is_that_of_the_deals():
    rules = Rules.preset("auction")
    few = duplicate_match(rules, load("greedy"), load("random"), 100, seed=1)
    many = duplicate_match(rules, load("greedy"), load("random"), 1600, seed=1)
    assert (few.high - few.low) / (many.high - many.low) == pytest.approx(4, rel=0.25)
    assert many.low < many.mean < many.high


def test_bids_add_up_to_the_deals_pitched():
    match = duplicate_match(Rules.preset("money"), load("random"), load("random"), 200)
    tried = sum(count.deals for count in match.bids)
    made = sum(count.made for count in match.bids)
    assert match.pitched == pytest.approx(tried / (200 * 4))
    assert match.made == pytest.approx(made / tried)
    assert [count.bid for count in match.bids] == ["2", "3", "4", "moon"]


def test_the_same_seed_gives_the_same_match_and_another_another():
    rules = Rules.preset("oklahoma")
    first, again, other = (duplicate_match(rules, load("random"), First(), 30, seed=s) for s in (1, 1, 2))
    assert first == again
    assert first.mean != other.mean


def test_one_deal_has_no_interval():
    with pytest.raises(ValueError, match="deals=1 is not allowed"):
        duplicate_match(Rules.preset("auction"), First(), First(), 1)


def test_the_command_prints_a_table_and_writes_json(tmp_path, capsys):
    file = tmp_path / "result.json"
    arguments = ["evaluate", "random", "greedy", "--rules", "auction", "--rule-options", "{players: 3}"]
    assert cli.main([*arguments, "--deals", "50", "--seed", "9", "--json", str(file)]) == 0
    assert "points per deal" in capsys.readouterr().out.replace("\n", " ")
    content = json.loads(file.read_text())
    assert content["seed"] == 9
    assert content["rules"]["players"] == 3
    assert {"pitch-env", "numpy", "numba", "python"} <= set(content["versions"])
    assert set(content["agents"]) == {"random", "greedy"}
    assert all(len(code) == 16 for code in content["agents"].values())
    pairs = [(match["agent"], match["opponent"]) for match in content["matches"]]
    assert pairs == [("random", "greedy"), ("greedy", "random")]
    for match in content["matches"]:
        assert match["low"] <= match["mean"] <= match["high"]
        assert not math.isnan(match["mean"])


def test_an_agent_can_be_played_against_itself(capsys):
    assert cli.main(["evaluate", "random", "random", "--deals", "20"]) == 0
    assert "random#2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["evaluate", "nobody", "random"], 1, "no agent 'nobody'"),
        (["evaluate", "random"], 1, "one agent is not enough"),
        (["evaluate", "random", "greedy", "--rules", "poker"], 2, "auction_pairs"),
        (["evaluate", "random", "greedy", "--rule-options", "{playrs: 6}"], 1, "did you mean 'players'"),
        (["evaluate", "random", "greedy", "--rule-options", "six"], 2, "is not a mapping"),
        (["evaluate", "random", "greedy", "--deals", "1"], 2, "at least 2"),
        (["evaluate", "random", "greedy", "--deal", "x"], 2, "is not a whole number"),
        (["evaluat", "random", "greedy"], 2, "evaluate"),
        ([], 2, "command"),
    ],
)
def test_a_wrong_command_is_refused_with_one_line_that_says_why(arguments, status, says, capsys):
    with pytest.raises(SystemExit) as stop:
        sys.exit(cli.main(arguments))
    assert stop.value.code == status
    assert says in capsys.readouterr().err


def test_the_deals_of_a_match_are_recorded(tmp_path, capsys):
    file = tmp_path / "deals.jsonl"
    arguments = ["evaluate", "greedy", "expert", "--rules", "auction_pairs", "--deals", "20", "--record", str(file)]
    assert cli.main(arguments) == 0
    found = list(record.read(file))  # which replays each
    assert len(found) == 80  # two roles, two teams
    assert len({each.game for each in found}) == 80
    seated = [tuple(seat.agent for seat in each.seats) for each in found]
    assert Counter(seated) == {("greedy", "expert") * 2: 40, ("expert", "greedy") * 2: 40}
    match = duplicate_match(Rules.preset("auction_pairs"), load("greedy"), load("expert"), 20, 1)
    points = []
    for each in found[:40]:  # of the first role
        own = [seat.agent for seat in each.seats].index("greedy")
        change = each.result.score_change
        points.append(change[own] - change[1 - own])
    assert sum(points) / len(points) == pytest.approx(match.mean)


def test_a_file_of_records_that_cannot_be_written_is_refused_before_the_play(tmp_path, capsys):
    (tmp_path / "cut.jsonl").write_text("{")
    for file, says in (("cut.jsonl", "in the middle of a line"), ("no/such/folder.jsonl", "No such file")):
        assert cli.main(["evaluate", "random", "random", "--deals", "2", "--record", str(tmp_path / file)]) == 1
        out, err = capsys.readouterr()
        assert says in err
        assert not out
