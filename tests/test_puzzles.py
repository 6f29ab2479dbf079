"""Puzzles: what they say is right is so, bad ones are refused with a clear word, and agents are measured by them."""

import dataclasses
import json
from collections import Counter

import numpy as np
import pytest
import yaml
from verify_puzzles import complaint

from agents import cli, load
from agents.puzzles import attempt, load_puzzles, parse_puzzle, score
from pitch_env import Rules
from pitch_env.actions import action_text, parse_action
from pitch_env.observation import RULES_BYTES, layout

ALL = load_puzzles()

ENTRY = {
    "name": "two or three",
    "why": "a reason",
    "theme": "steal",
    "rules": {"preset": "auction"},
    "hands": ["AS KS JS 2S 5D 7C", "9C TC 4D 6D 3H TH", "3C 4C 8D 9D 6H 7H", "KC QC TD JD 8H QH"],
    "actions": [2, "pass", "pass"],
    "right": [2],
    "proof": "average",
}


def test_there_are_puzzles_of_every_preset_and_every_phase():
    assert len(ALL) >= 50
    assert {puzzle.phase for puzzle in ALL} == {"bid", "trump", "exchange", "discard", "play"}
    for preset in Rules.presets():
        kinds = {Rules.preset(preset, players=n) for n in (2, 3, 4, 6) if _plays(preset, n)}
        assert sum(puzzle.rules in kinds for puzzle in ALL) >= 8, preset
    assert {puzzle.rules.follow for puzzle in ALL} == {"may_trump", "must_follow", "must_trump"}
    assert {puzzle.rules.game for puzzle in ALL} == {"count", "ten"}
    assert {puzzle.goal for puzzle in ALL} == {"points", "game", "money"}
    assert all(puzzle.why.endswith(".") for puzzle in ALL)
    assert Counter(puzzle.theme for puzzle in ALL).most_common(1)[0][1] < len(ALL) / 4


def _plays(preset, players):
    return players == 4 or (preset in ("money", "auction")) or (preset == "oklahoma" and players == 6)


@pytest.mark.parametrize("puzzle", ALL, ids=lambda puzzle: puzzle.name)
def test_what_is_right_is_right(puzzle):
    """``tests/verify_puzzles.py`` does the same with many more deals, and so without this margin for chance."""
    assert complaint(puzzle, 60 if puzzle.proof == "every deal" else 150, errors=0, exceptions=0.15) is None


@pytest.mark.parametrize("number", range(0, len(ALL), 6))
def test_the_check_finds_what_is_wrong(number):
    puzzle = ALL[number]
    assert "against" in (complaint(dataclasses.replace(puzzle, right=puzzle.wrong), 60) or "")


# Reading.


def test_a_puzzle_is_the_position_that_its_file_tells():
    puzzle = parse_puzzle(ENTRY)
    assert (puzzle.name, puzzle.theme, puzzle.goal, puzzle.proof, puzzle.phase) == (
        "two or three", "steal", "points", "average", "bid",
    )  # fmt: skip
    assert puzzle.rules == Rules.preset("auction")
    assert puzzle.game.hand(0) == ["7C", "5D", "2S", "JS", "KS", "AS"]
    assert puzzle.game.calls == [(1, "2"), (2, "pass"), (3, "pass")]
    assert [action_text(action) for action in puzzle.right] == ["2"]
    assert [action_text(action) for action in puzzle.wrong] == ["pass", "3", "4"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"right": []}, "0 right actions of 4 are no puzzle"),
        ({"right": ["pass", 2, 3, 4]}, "4 right actions of 4 are no puzzle"),
        ({"right": [1]}, "right is 1, which is not legal; legal are pass, 2, 3, 4"),
        ({"right": ["two"]}, "two"),
        ({"right": [True]}, "True is not the text"),
        ({"actions": [2, "pass", "AS"]}, "'AS' is not legal"),
        ({"hands": ["AS"]}, "1 hands are not allowed"),
        ({"hands": [*ENTRY["hands"][:3], 7]}, "has 1 cards|'7'"),
        ({"rules": {"preset": "auctoin"}}, "no preset 'auctoin'"),
        ({"dealer": 4}, "dealer=4 is not allowed"),
        ({"dealer": "north"}, "dealer='north' is not allowed; it is a whole number"),
        ({"scores": [0, 0]}, "scores"),
        ({"scores": 7}, "scores=7 is not allowed; it is a list"),
        ({"goal": "fame"}, "goal='fame' is not allowed; it is one of points, game, money"),
        ({"proof": "faith"}, "proof='faith' is not allowed; it is one of every deal, most deals, average"),
        ({"colour": "red"}, "there is no field 'colour'"),
        ({"why": None}, "why=None is not allowed; it is a text"),
    ],
)
def test_a_bad_puzzle_is_refused_by_file_and_name(change, message, tmp_path):
    (tmp_path / "good.yaml").write_text(yaml.safe_dump([{**ENTRY, "name": "good"}]))
    (tmp_path / "other.yaml").write_text(yaml.safe_dump([ENTRY | change]))
    with pytest.raises(ValueError, match=message) as refused:
        load_puzzles(tmp_path)
    assert str(refused.value).startswith("other.yaml, puzzle 'two or three': ")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("field", ["name", "why", "theme", "rules", "hands", "right", "proof"])
def test_a_missing_field_is_named(field, tmp_path):
    entry = {name: value for name, value in ENTRY.items() if name != field}
    (tmp_path / "a.yaml").write_text(yaml.safe_dump([entry]))
    with pytest.raises(ValueError, match=rf"^a\.yaml, puzzle .*: there is no {field}$"):
        load_puzzles(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- [", "a.yaml is not YAML"),
        ("name: x", "a.yaml is not a list of puzzles"),
        ("- x", "a.yaml, puzzle 'number 1': it is not a mapping"),
        ("[]", "there is no puzzle in"),
        (yaml.safe_dump([ENTRY, ENTRY]), "there is another puzzle of this name"),
    ],
)
def test_a_bad_file_is_refused(text, message, tmp_path):
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(ValueError, match=message):
        load_puzzles(tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path, capsys):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        load_puzzles(tmp_path / "nowhere")
    assert cli.main(["puzzles", "greedy", "--puzzles", str(tmp_path / "nowhere")]) == 1
    assert "there is no folder" in capsys.readouterr().err


# Trying.


class Scripted:
    """Does what it is told, in turn; refuses rules that are not its own."""

    name = "scripted"

    def __init__(self, actions, rules=None):
        self.actions, self.rules = actions, rules

    def act(self, observation, mask, rng):
        if self.rules is not None and (observation[0, :RULES_BYTES] != layout(self.rules)[0]["rules"]).any():
            raise ValueError("other rules")
        assert mask[np.arange(len(mask)), np.resize(self.actions, len(mask))].all()
        return np.resize(self.actions, len(mask))


def test_the_share_right_is_that_of_the_tries():
    puzzle = parse_puzzle(ENTRY)
    two, three, four = (parse_action(text) for text in ("2", "3", "4"))
    for actions, share, wrong in (([two], 1.0, ()), ([three, two], 0.5, ("3",)), ([four, three], 0.0, ("3", "4"))):
        (tried,) = attempt(Scripted(actions), [puzzle], tries=10)
        assert (tried.share, tried.wrong) == (share, wrong)


def test_an_agent_gets_no_score_where_it_does_not_play_the_rules():
    mine = [puzzle for puzzle in ALL if puzzle.rules == Rules.preset("money") and puzzle.phase == "bid"]
    others = [puzzle for puzzle in ALL if puzzle.rules == Rules.preset("oklahoma")]
    tried = attempt(Scripted([parse_action("pass")], Rules.preset("money")), [*mine, *others])
    assert [each.share is None for each in tried] == [False] * len(mine) + [True] * len(others)
    expected = sum(parse_action("pass") in puzzle.right for puzzle in mine) / len(mine)
    assert score(tried) == pytest.approx(expected)
    assert score(tried[len(mine) :]) is None


def test_random_finds_the_share_of_actions_that_are_right():
    tried = attempt(load("random"), ALL, tries=2000)
    for each in tried:
        chance = len(each.puzzle.right) / len(each.puzzle.game.legal())
        assert each.share == pytest.approx(chance, abs=5 * (chance * (1 - chance) / 2000) ** 0.5)


def test_an_attempt_leaves_the_puzzle_as_it_was():
    before = [puzzle.game.to_bytes() for puzzle in ALL]
    attempt(load("expert"), ALL, tries=1)
    assert [puzzle.game.to_bytes() for puzzle in ALL] == before


def test_the_better_player_finds_more():
    shares = [score(attempt(load(name), ALL)) for name in ("random", "greedy", "expert")]
    assert shares == sorted(shares)
    assert shares[-1] > 0.8


def test_the_command_prints_a_table_and_what_was_failed_and_writes_json(tmp_path, capsys):
    file = tmp_path / "puzzles.json"
    assert cli.main(["puzzles", "greedy", "expert", "--json", str(file)]) == 0
    printed = capsys.readouterr().out
    content = json.loads(file.read_text())
    assert list(content["agents"]) == ["greedy", "expert"]
    for name, result in content["agents"].items():
        assert [each["name"] for each in result["puzzles"]] == [puzzle.name for puzzle in ALL]
        failed = [each for each in result["puzzles"] if each["share"] < 1]
        assert f"{name} failed {len(failed)} of {len(ALL)}:" in printed
        assert all(f"  {each['name']}: {each['wrong'][0]} instead of {each['right'][0]}" in printed for each in failed)
    for theme in {puzzle.theme for puzzle in ALL}:
        assert theme in printed
