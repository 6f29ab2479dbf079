"""A person at a table: what he may do and see, undo, saved tables; and the program in a terminal and in a pipe."""

import codecs
import io
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

import numpy as np
import pytest

from agents.cli import main
from agents.command_play import keep_records
from agents.table import Table
from pitch_env import Game, IllegalAction, Rules, record

ROOT = Path(__file__).parent.parent
PRESETS = [(name, {}) for name in Rules.presets()] + [("oklahoma", {"players": 6}), ("money", {"players": 2})]


def play_on(table: Table, rng: np.random.Generator, actions: int = 10**6, deals: int = 10**6) -> Iterator[Table]:
    """Play with random actions for the person; stops after so many of them, or so many deals, or the game."""
    for _ in range(actions):
        while table.between or not (table.yours or table.over):
            table.next_deal()
            list(table.agents_moves())
        if table.over:
            return
        yield table
        table.act(rng.choice(table.game.legal()))
        list(table.agents_moves())
        if len(table.results) >= deals:
            return


@pytest.mark.parametrize(("name", "options"), PRESETS)
def test_a_game_is_played_to_its_end(name, options):
    table = Table(Rules.preset(name, **options), ["greedy", "expert"][: options.get("players", 4) - 1], seat=1, seed=5)
    rng = np.random.default_rng(0)
    for _ in play_on(table, rng):
        assert table.game.actor == table.seat
    assert table.over
    assert len(table.results) == table.game.deals_played
    replayed = Game(table.rules, 5, table.deals)
    for action in table.actions:
        replayed.apply(action)
    assert replayed == table.game
    assert table.named(f"player_{table.seat}") == "you"


def test_the_others_are_the_agents_that_were_named_from_the_left_and_the_last_one_fills_up():
    table = Table(Rules.preset("auction", players=5), ["expert", "greedy"], seat=3)
    assert table.names == ["greedy", "greedy#2", "greedy#3", "you", "expert"]


@pytest.mark.parametrize(("name", "options"), PRESETS)
def test_undo_goes_back_to_the_last_own_action_and_what_follows_it_is_the_same(name, options):
    table, rng = Table(Rules.preset(name, **options), ["random"], seed=3), np.random.default_rng(1)
    assert not table.undo()
    before = [here.game.to_bytes() for here in play_on(table, rng, 12)]
    actions, after = list(table.actions), table.game.to_bytes()
    own = [action for place, action in enumerate(actions) if place in table._own]
    assert len(own) == len(before)
    while before:
        assert table.undo()
        assert table.yours
        assert table.game.to_bytes() == before.pop()
    assert not table.undo()
    for action in own:
        while not table.yours:
            table.next_deal()
            list(table.agents_moves())
        table.act(action)
        list(table.agents_moves())
    assert table.actions == actions
    assert table.game.to_bytes() == after


def test_a_saved_table_goes_on_as_the_table_would_have(tmp_path):
    rng = np.random.default_rng(2)
    table = Table(Rules.preset("oklahoma"), ["random", "greedy"], seat=2, deals=3, hint="expert")
    for number, here in enumerate(play_on(table, rng)):
        if number % 9 == 0:
            here.save(tmp_path / "table.json")
            twin = Table.load(tmp_path / "table.json")
            assert (twin.game, twin.between, twin.names) == (here.game, here.between, here.names)
            assert (twin.hint, twin.results) == (here.hint, here.results)
    table.save(tmp_path / "table.json")
    assert Table.load(tmp_path / "table.json").over
    table.undo()
    twin.undo()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "pitch-table 99"}, "not a saved table"),
        ({"actions": ["2", "AS", "pass"]}, "action 2: 'AS' is not legal"),
        ({"against": ["nobody"]}, "no agent 'nobody'"),
        ({"seat": 9}, "seat=9 is not allowed"),
        ({"against": None}, "damaged"),
        ({"actions": 7}, "damaged"),
    ],
)
def test_a_damaged_save_is_refused_with_the_file_and_the_place(change, says, tmp_path):
    fields = Table(Rules.preset("auction"), ["greedy"], seed=1).to_dict() | change
    (tmp_path / "bad.json").write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=f"bad.json: .*{says}"):
        Table.load(tmp_path / "bad.json")


def test_what_cannot_sit_is_refused():
    auction = Rules.preset("auction")
    with pytest.raises(ValueError, match="cannot sit at this table"):
        Table(Rules.preset("oklahoma"), ["auction"])
    with pytest.raises(ValueError, match="4 agents are not allowed; there are 3 other seats"):
        Table(auction, ["greedy"] * 4)
    with pytest.raises(ValueError, match="seat=4 is not allowed"):
        Table(auction, ["greedy"], seat=4)


def test_advice_is_legal_has_probabilities_and_knows_only_what_the_seat_knows():
    table, rng = Table(Rules.preset("auction"), ["greedy", "auction"], seed=2), np.random.default_rng(0)
    for here in play_on(table, rng, 10):
        advice = here.advice()
        assert advice.agent == "auction"
        assert {action for action, _ in advice.probabilities} == set(here.game.legal())
        assert sum(share for _, share in advice.probabilities) == pytest.approx(1, abs=1e-5)
        assert advice.choice == advice.probabilities[0][0]
        true = here.game
        for imagined in here.imagined(3):
            assert imagined.infoset(here.seat) == true.infoset(here.seat)
            here.game = imagined
            assert here.advice() == advice
        here.game = true
        greedy = here.opinion("greedy")
        assert (greedy.probabilities, greedy.value) == ([], None)
        assert greedy.choice in here.game.legal()


def test_an_action_out_of_turn_is_refused():
    table = Table(Rules.preset("auction"), ["greedy"], seed=1)
    while table.game.actor == table.seat:
        table.new_game()
    with pytest.raises(IllegalAction, match="it is the turn of"):
        table.act("pass")


def between_deals(table: Table, deals: int = 1) -> Table:
    """The table when so many deals of its game are over."""
    assert all(play_on(table, np.random.default_rng(4), deals=deals))
    return table


def test_the_ledger_settles_every_deal_once_also_after_undo():
    table = between_deals(Table(Rules.preset("money"), ["greedy", "expert"], seed=1), 3)
    for _ in range(2):
        expected = np.zeros(4)
        for deal in table.results:
            change = np.array(deal.score_change)
            expected += 10 * (change - change.mean())
            if deal.moon is not None:
                moon = np.where(np.arange(4) == deal.pitcher, 300, -100)
                expected += moon if deal.moon else -moon
        assert table.ledger.deals == len(table.results) > 0
        assert [float(table.ledger.balances[name]) for name in table.names] == pytest.approx(expected.tolist())
        for _ in range(8):
            table.undo()
    assert Table(Rules.preset("auction"), ["greedy"]).ledger is None


def test_players_come_and_go_between_deals_and_keep_their_money():
    first = between_deals(Table(Rules.preset("money"), ["greedy", "expert"], seat=3, seed=1))
    more = first.joined("random").joined("greedy")
    assert (first.rules.players, more.rules.players, more.seat) == (4, 6, 3)
    assert more.others == ["greedy", "expert", "expert#2", "random", "greedy#2"]
    assert more.ledger.balances.items() >= first.ledger.balances.items()
    owed = more.ledger.whole_balances()["expert"]
    fewer, payments = more.left("expert")
    assert "expert" not in fewer.names
    assert sum(each.cents if each.payee == "expert" else -each.cents for each in payments) == owed
    assert sum(fewer.ledger.balances.values()) == 0
    while len(fewer.others) > 1:
        fewer = fewer.left(fewer.others[0])[0]
    assert (fewer.rules.players, fewer.names[fewer.seat]) == (2, "you")
    with pytest.raises(ValueError, match="is the last other player"):
        fewer.left(fewer.others[0])
    with pytest.raises(ValueError, match="nobody else is called 'nobody'"):
        more.left("nobody")
    while not more.actions:
        if more.yours:
            more.act(more.game.legal()[0])
        list(more.agents_moves())
    with pytest.raises(ValueError, match="between deals only"):
        more.joined("random")
    with pytest.raises(ValueError, match="no target"):
        Table(Rules.preset("auction"), ["greedy"]).joined("random")


def test_at_a_restless_table_the_number_of_players_changes_and_all_is_saved(tmp_path):
    table, rng = Table(Rules.preset("money"), ["greedy", "random"], seed=3, restless=True), np.random.default_rng(0)
    seen = set()
    for _ in range(20):
        if table.over:
            table.new_game()
        between_deals(table, len(table.results) + 1)
        table, who = table.wander()
        seen.add(who.split()[-1] if who else "")
        table.next_deal()
        table.save(tmp_path / "t.json")
        table = Table.load(tmp_path / "t.json")
        for here in play_on(table, rng, 2):
            assert set(here.ledger.present) == set(here.names)
    assert seen == {"", "joins", "leaves"}


def test_records_are_of_the_deals_that_count(tmp_path):
    file, rules = tmp_path / "games.jsonl", Rules.preset("oklahoma")
    other = between_deals(Table(rules, ["random"], seed=8))
    keep_records(file, other)
    table = between_deals(Table(rules, ["random"], seed=9), 2)
    keep_records(file, table)
    keep_records(file, table)
    table.save(tmp_path / "t.json")
    table = between_deals(Table.load(tmp_path / "t.json"), 3)
    keep_records(file, table)
    assert [(each.game, each.deal.number) for each in record.read(file)] == [
        (other.game_name, 1), *((table.game_name, number) for number in (1, 2, 3)),
    ]  # fmt: skip
    while len(table.results) > 1:
        table.undo()
    keep_records(file, table)
    kept = list(record.read(file))
    assert len(kept) == 2
    assert [seat.agent for seat in kept[0].seats] == ["you", "random", "random", "random"]
    assert kept[1].result.score_change == table.results[0].score_change
    for strange in (b"a letter\n", b"a l\xe9tter\n"):
        file.write_bytes(strange)
        with pytest.raises(ValueError, match="not a file of game records"):
            keep_records(file, table)
        assert file.read_bytes() == strange


# The program, through a pseudo-terminal.


class Terminal:
    """The program at a terminal."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.end, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agents", "play", *arguments], cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs,
            env=kept | {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment},
        )  # fmt: skip
        os.close(theirs)
        self.raw, self.decode = "", codecs.getincrementaldecoder("utf-8")().decode

    def until(self, pattern: str) -> str:
        """What is shown until it ends with the pattern, without the escapes; ``raw`` keeps them."""
        self.raw, limit = "", time.monotonic() + 300
        while not re.search(f"(?:{pattern})$", plain(self.raw)):
            assert select.select([self.end], [], [], max(0, limit - time.monotonic()))[0], self.raw
            if not (shown := self.read()):
                break
            self.raw += self.decode(shown)
        return plain(self.raw)

    def read(self) -> bytes:
        """What is shown next; nothing when the program has closed its end."""
        try:
            return os.read(self.end, 65536)
        except OSError:  # how Linux says so
            return b""

    def says(self, line: str) -> str:
        """Type a line; what the program answers until it asks again."""
        os.write(self.end, line.encode() + b"\n")
        return self.until("> ")

    def ends(self, typed: bytes) -> int:
        """Type this, wait until the program has ended and only then close the terminal; gives the exit status.

        What was typed is echoed before the program has read it, so its echo says nothing about the program.
        """
        os.write(self.end, typed)
        while self.read():
            pass
        os.close(self.end)
        return self.process.wait(timeout=300)


def plain(text: str) -> str:
    return re.sub(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[>=])", "", text).replace("\r", "")


def choices(screen: str) -> list[str]:
    """What the last screen says that one may choose."""
    listed = re.search(r"\(([^()]*)\)> $", screen)
    hand = [line for line in screen.splitlines() if line.startswith("your hand")][-1]
    return (listed[1].split(", ") if listed else []) + re.findall(r"\[(\S+)\]", hand)


def finish_deal(terminal: Terminal, screen: str) -> str:
    while not screen.endswith(("next deal> ", "or quit> ")):
        screen = terminal.says(choices(screen)[-1])
    return screen


def test_a_deal_in_a_terminal(tmp_path):
    terminal = Terminal("--against", "expert,auction", "--seed", "3", "--deals", "2")
    screen = terminal.until("> ")
    assert "seed 3" in screen
    assert "auction would choose" in terminal.says("?")
    assert "%" in terminal.says("hint")
    assert "is not legal" in terminal.says("10")
    assert "neither an action nor a command" in terminal.says("xyzzy")
    assert "save FILE" in terminal.says("help")
    assert "no trick has been taken yet" in terminal.says("last")
    screen = terminal.says(choices(screen)[0])
    while "[" not in screen.splitlines()[-2]:
        screen = terminal.says(choices(screen)[0])
    assert re.search(r"\x1b\[(\d+;)*31m", terminal.raw) or not re.search("[♦♥]", screen)  # red suits are red
    hand = screen.splitlines()[-2]
    played = terminal.says(choices(screen)[0])
    assert f"saved to {tmp_path}/t.json" in terminal.says(f"save {tmp_path}/t.json")
    assert hand in terminal.says("undo")
    loaded = terminal.says(f"load {tmp_path}/t.json")
    assert loaded.splitlines()[-4:] == played.splitlines()[-4:]
    assert re.search(r": \S+ wins?\n", terminal.says("last"))
    assert "no such file" in terminal.says(f"load {tmp_path}/none.json").lower()
    screen = finish_deal(terminal, loaded)
    assert re.search(r"bid \S+ and (made it|w\w+ set)", screen)
    assert "scores: you" in screen
    assert "bid" in terminal.says("deal")
    assert "nobody is to act" in terminal.says("?")
    screen = finish_deal(terminal, terminal.says(""))
    assert "game over" in screen
    assert "seed 4" in terminal.says("new")
    assert "not played for money" in terminal.says("money")
    assert "no target" in terminal.says("join greedy")
    assert terminal.ends(b"quit\n") == 0


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_where_they_are_not_wanted(environment):
    terminal = Terminal("--against", "greedy", "--seed", "1", "--rules", "oklahoma", **environment)
    terminal.until("> ")
    shown = re.sub(r"\x1b\[\?[0-9]+[hl]", "", terminal.raw)  # readline's own, for what is pasted
    assert "\x1b" not in shown
    assert terminal.ends(b"\x04") == 0


def test_a_table_for_money_in_a_pipe(monkeypatch, capsys, tmp_path):
    lines = ["pass", *(card for card in "AS KS"), "join random", "money", "leave expert", "leave you", "load", "quit"]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    file = tmp_path / "games.jsonl"
    assert main(["play", "--rules", "money", "--against", "expert", "--seed", "4", "--record", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "money: you +0.00 $" in shown or "between deals only" in shown
    assert "load what? Say load FILE" in shown
    assert file.exists()


def test_a_pipe_is_plain_and_its_end_ends_the_game():
    done = subprocess.run(
        [sys.executable, "-m", "agents", "play", "--against", "greedy", "--seed", "1"], cwd=ROOT, text=True,
        input="table\n?\n", capture_output=True, timeout=300,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "greedy would choose" in done.stdout
    assert done.stdout.count("your hand") == 2


def test_a_wrong_command_line_says_what_is_wrong(capsys):
    assert main(["play", "--against", "nobody"]) == 1
    assert "no agent 'nobody'" in capsys.readouterr().err
    assert main(["play", "--load", "nowhere.json"]) == 1
    assert "nowhere.json" in capsys.readouterr().err
    assert main(["play", "--replay", "games.jsonl"]) == 1
    assert "pitch replay games.jsonl" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main(["play", "--against", "expert,,greedy"])
    assert stopped.value.code == 2
