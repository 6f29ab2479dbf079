"""The command line: every command explains itself, refuses in one line, and says by its status how it went."""

import importlib
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from agents import cli, command_bench
from agents.command_rules import TITLES, describe
from pitch_env import Rules

ROOT = Path(__file__).parent.parent
each_command = pytest.mark.parametrize("name", cli.COMMANDS)


def example(name: str) -> str:
    return importlib.import_module(f"agents.command_{name}").EXAMPLE


@each_command
def test_help_explains_the_command_with_an_example(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([name, "--help"])
    assert stopped.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"example: pitch {' '.join(example(name).split())}" in shown
    assert f"usage: pitch {name} " in shown


@each_command
def test_the_example_is_a_command_line_that_it_takes(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    words = shlex.split(example(name))
    assert words[0] == name
    cli.parse(words)


@each_command
def test_every_option_has_a_help_line_and_dashes(name, capsys):
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    shown = capsys.readouterr().out
    assert not re.findall(r"--\w+_\w+", shown.replace("--print_config", ""))
    module = importlib.import_module(f"agents.command_{name}")
    if not hasattr(module, "parse"):
        parsers = cli.make_parser(name)._subparsers._group_actions[0].choices
        assert all(action.help for action in parsers[name]._actions)


@each_command
def test_an_unknown_option_ends_with_2(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([*shlex.split(example(name)), "--no-such-option"])
    assert stopped.value.code == 2
    assert "no-such-option" in capsys.readouterr().err.replace("_", "-")


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["dance"], 2), (["--help"], 0)])
def test_without_a_command_the_commands_are_named(arguments, status, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == status
    shown = capsys.readouterr()
    if arguments != []:
        assert all(name in shown.out + shown.err for name in cli.COMMANDS)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("rules auction --rule-options '{playrs: 5}'", "did you mean 'players'"),
        ("rules auction --rule-options '{players: 9}'", "players=9 is not allowed"),
        ("evaluate random nobody --deals 2", "no agent 'nobody'"),
        ("train --resume nowhere", "no checkpoint nowhere"),
    ],
)
def test_what_fails_says_so_in_a_line_and_ends_with_1(line, says, capsys):
    assert cli.main(shlex.split(line)) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"pitch {line.split()[0]}: ")
    assert says in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("{1: 2}", "1 in '{1: 2}' is not the name of a field"),
        ("{players: 3, null: 2}", "None in"),
        ("{on: 3}", "True in"),
        ("[players]", "is not a mapping such as"),
    ],
)
def test_what_is_no_mapping_of_names_is_refused(value, says, capsys):
    for line in ("rules auction", "evaluate random greedy", "nashconv random", "exploit random", "play"):
        with pytest.raises(SystemExit) as stopped:
            cli.main([*line.split(), "--rule-options", value])
        assert stopped.value.code == 2
        assert says in capsys.readouterr().err


def test_the_installed_command_is_this_one():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["pitch"] == "agents.cli:main"


def test_who_reads_only_the_beginning_breaks_nothing():
    pipe = f"{shlex.quote(sys.executable)} -m agents rules money | head -c 1"
    done = subprocess.run(["sh", "-c", pipe], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == ""


def test_progress_is_shown_to_terminals_only(capsys):
    assert cli.main(["evaluate", "random", "greedy", "--deals", "2"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "\x1b" not in shown.out
    assert "greedy" in shown.out


@pytest.mark.parametrize("name", Rules.presets())
def test_the_rules_of_a_preset(name, capsys, tmp_path):
    assert cli.main(["rules", name, "--json", str(tmp_path / "rules.json")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    found = json.loads((tmp_path / "rules.json").read_text())
    assert Rules.from_dict(found["rules"]) == Rules.preset(name)
    assert list(found["rules"]) == [option["name"] for option in found["options"]]
    assert all(option["meaning"] and option["allowed"] for option in found["options"])
    for words in found["words"].values():
        assert words in shown
    assert TITLES[name] in shown


def test_the_presets_are_listed(capsys):
    cli.main(["rules"])
    shown = capsys.readouterr().out
    assert [line.split()[0] for line in shown.splitlines()] == list(Rules.presets())
    assert "2 to 7 players" in shown
    assert "4 or 6 players" in shown


@pytest.mark.parametrize(
    ("field", "value", "part"),
    [
        ("auction", "until_passed", "Auction"), ("steal", False, "Auction"), ("moon", True, "Auction"),
        ("forced_bid", "throw_in", "Auction"), ("first_lead", "trump", "Play"), ("follow", "must_trump", "Play"),
        ("trump", "named", "Trump"), ("off_jack", True, "Trump"), ("jokers", 2, "Trump"), ("three", True, "Points"),
        ("game", "ten", "Points"), ("low_to", "holder", "Points"), ("target", 21, "End"), ("winner", "maker", "End"),
        ("pairs", True, "Score"), ("players", 5, "Cards"),
    ],
)  # fmt: skip
def test_every_option_changes_the_words(field, value, part):
    usual = Rules.preset("auction")
    other = Rules.preset("auction", **{field: value})
    assert describe("auction", usual)["words"][part] != describe("auction", other)["words"][part]


def test_the_words_name_the_trumps_in_their_order():
    words = describe("oklahoma", Rules.preset("oklahoma"))["words"]["Trump"]
    assert "A, K, Q, J, off-jack, high joker, low joker, T, 9" in words


def test_benchmarks_are_missed_with_a_word_where_they_are_not(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command_bench, "_BENCHMARKS", tmp_path / "bench.py")
    assert cli.main(["bench"]) == 1
    assert "in the repository" in capsys.readouterr().err
    (tmp_path / "bench.py").write_text("import sys; sys.exit(sys.argv[1:] != ['--out', 'b.md'])")
    assert cli.main(["bench", "--out", "b.md"]) == 0
