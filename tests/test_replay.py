"""``pitch replay``: every step is shown, in a pipe and in a terminal, and what is wrong is named."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from agents import checkpoint, command_replay, load
from agents.cli import main
from agents.command_replay import Deal, Viewer
from agents.networks import PolicyValueNetwork
from agents.opinions import opinion
from agents.table_words import opinion_words
from pitch_env import Game, Rules, VectorGame
from pitch_env.observation import highs
from pitch_env.record import Record, Seat, record_of, replay, write
from pitch_env.recorder import Recorder

ROOT = Path(__file__).parent.parent


def recorded(rules: Rules, deals: int) -> list[Record]:
    """Deals of a game between greedy players."""
    batch, agent = VectorGame(rules, 1, 3, deals=deals), load("greedy")
    recorder = Recorder(batch, [Seat(f"bot {seat}", "abc") for seat in range(rules.players)], name="club-")
    records: list[Record] = []
    while len(records) < deals:
        records += recorder.step(agent.act(batch.observation, batch.mask, np.random.default_rng(0)))
    return records


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("replay") / "games.jsonl"
    write(path, recorded(Rules.preset("money"), 3))
    return path


def shown(capsys, *arguments: object) -> str:
    assert main(["replay", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_a_pipe_gets_every_step_of_every_deal(file, capsys):
    records = recorded(Rules.preset("money"), 3)
    out = shown(capsys, file)
    for number, record in enumerate(records, 1):
        assert f"record {number}, line {number}: deal {number} of game club-0.0\n" in out
        for place in range(1, len(record.actions) + 1):
            assert f"[{place} of {len(record.actions)}] player_" in out
        for team, change in enumerate(record.result.score_change):
            assert f"player_{team} {change:+d}" in out
    assert out.count("deal over") == 2
    assert out.count("game over") == 1
    assert "player_0 is bot 0, player_1 is bot 1" in out
    assert "\x1b" not in out


def test_one_deal_is_that_one(file, capsys):
    out = shown(capsys, file, "--deal", 2)
    assert out.startswith("record 2, line 2: deal 2 of game club-0.0\n")
    assert out.count("record") == 1
    assert out in shown(capsys, file)


def test_agents_say_what_they_would_do(file, capsys):
    record = recorded(Rules.preset("money"), 3)[1]
    out = shown(capsys, file, "--deal", 2, "--agents", "greedy,expert")
    would = re.findall(r"goes on with (\S+)\n  greedy  would choose (\S+)\n  expert  would choose (\S+)\n", out)
    assert len(would) == len(record.actions)
    assert [greedy for _, greedy, _ in would] == [done for done, _, _ in would]  # greedy players played
    assert [expert for _, _, expert in would] != [done for done, _, _ in would]


class Sure:
    """An agent that knows probabilities and values, and refuses to speak in the play."""

    name = "sure"

    def act(self, observation, mask, rng):
        if mask[0, :54].any():
            raise ValueError("sure was trained for auctions only")
        return mask.argmax(1)

    def probabilities(self, observation, mask):
        return mask * np.linspace(1, 2, 71) / 10

    def values(self, observation, mask):
        return np.full(len(observation), -1.25)


def test_probabilities_and_values_are_shown_likeliest_first():
    record = recorded(Rules.preset("money"), 1)[0]
    viewer, deal = Viewer([Sure()], None), Deal("here", record, list(replay(record)))
    assert viewer.text(deal, 0).endswith(
        "  sure  would choose pass; moon 19.9%, 4 18.9%, 3 18.7%, 2 18.6%; expects -1.25 points"
    )
    bids = sum(game.phase == "bid" for game in deal.games)
    assert viewer.text(deal, bids).endswith("  sure  cannot say: sure was trained for auctions only")
    assert "sure" not in viewer.text(deal, len(record.actions))


def test_values_of_agents_of_whole_games_are_chances(tmp_path):
    rules = Rules.preset("auction")
    record = recorded(rules, 1)[0]
    torch.manual_seed(1)
    network = PolicyValueNetwork(highs(rules), 16)
    torch.nn.init.normal_(network.value.weight, std=0.01)
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    said = {}
    for reward, deals in (("points", 1), ("win", None)):
        header = checkpoint.header_for(rules, {"width": 16, "depth": 1}, {"reward": reward, "deals": deals})
        checkpoint.write(tmp_path / reward / checkpoint.MODEL, tensors, header)
        agent = load(tmp_path / reward)
        deal = Deal("here", record, list(replay(record)))
        said[reward] = Viewer([agent], None).text(deal, 0).splitlines()[-1]
        game = deal.games[0]
        words = opinion_words(opinion(agent, game, np.random.default_rng(0)))
        assert ("points" in words) == (reward == "points")
        assert words.count("relative to the others") == 1
        value = agent.values(game.observation(game.actor)[None], game.legal_mask()[None])[0]
        assert f"{value:+.2f}" in said["points"] or f"{value:+.1%}" in said["win"]
    assert re.search(r"; expects [+-]\d\.\d\d points$", said["points"])
    assert re.search(r"; expects a chance to win of [+-]\d+\.\d%, relative to the others$", said["win"])


def test_a_seat_sees_nothing_that_it_did_not_see():
    """Two deals that differ in the others' cards only look the same until a card tells."""
    rules = Rules.preset("oklahoma")
    game = Game(rules, 5, deals=1)
    other = game.determinize(0, 1)
    steps = []
    for each in (game, other):
        actions = []
        while each.phase != "play":
            action = next((a for a in ("3", "pass", "2") if a in each.legal()), None) if each.phase == "bid" else None
            actions.append(action or (each.legal()[-1] if each.phase == "trump" or each.actor else each.legal()[0]))
            each.apply(actions[-1])
        record = record_of(each, actions)
        deal = Deal("here", record, list(replay(record)))
        viewer = Viewer([load("expert")], 0)
        steps.append([viewer.text(deal, step) for step in range(len(deal.games))])
    cards = [[card for seat in range(1, 4) for card in each.dealt(seat)] for each in (game, other)]
    assert cards[0] != cards[1]
    own = [game.dealt(0), other.dealt(0)]
    assert own[0] == own[1]
    before_draws = next(i for i, text in enumerate(steps[0]) if "exchange" in text)
    assert steps[0][: before_draws + 1] == steps[1][: before_draws + 1]
    put_away = [
        text for text in steps[0] if re.search(r"player_[123] \(player_[123]\) (puts away|exchanges) a card", text)
    ]
    assert put_away
    assert not any(
        re.search(r"player_[123] \(player_[123]\) (puts away|exchanges) \S*[♣♦♥♠]", text) for text in steps[0]
    )


def test_hands_are_hidden_from_a_seat(file, capsys):
    out = shown(capsys, file, "--seat", 1)
    assert "player_1 (you)" in out
    assert "??" in out


def test_what_cannot_be_shown_is_said_in_a_line(file, tmp_path, capsys):
    damaged, empty = tmp_path / "damaged.jsonl", tmp_path / "empty.jsonl"
    lines = file.read_text().splitlines()
    fields = json.loads(lines[1])
    fields["result"]["points"][0] += 1
    damaged.write_text("\n".join([lines[0], json.dumps(fields), lines[2]]))
    empty.write_text("\n")
    for arguments, says in (
        ((file, "--deal", 4), "holds 3 records; --deal 4 is not allowed"),
        ((file, "--seat", 4), "seat=4 is not allowed; seats are 0 to 3"),
        ((file, "--agents", "nobody"), "no agent 'nobody'"),
        ((empty,), "holds no records"),
        ((tmp_path / "gone.jsonl",), "gone.jsonl"),
        ((damaged, "--deal", 2), "damaged.jsonl, line 2: the result's points is"),
    ):
        assert main(["replay", *map(str, arguments)]) == 1
        error = capsys.readouterr().err
        assert says in error
        assert error.count("\n") == 1
    assert main(["replay", str(file), "--check"]) == 0
    assert capsys.readouterr().out == "3 records replay to their results; 0 wrong lines\n"
    assert main(["replay", str(damaged), "--check"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith(f"{damaged}, line 2: the result's points is")
    assert out[1] == "2 records replay to their results; 1 wrong lines"
    assert shown(capsys, damaged, "--deal", 3).startswith("record 3, line 3: deal 3")


def test_symbols_that_cannot_be_written_become_letters(monkeypatch):
    monkeypatch.setattr(sys, "stdout", open(os.devnull, "w", encoding="ascii"))  # noqa: SIM115 (closed below)
    try:
        assert command_replay._writable("A♠ · T♦") == "AS - TD"
    finally:
        sys.stdout.close()


@pytest.mark.parametrize("no_color", [False, True])
def test_in_a_terminal_keys_lead_through_the_deals(file, no_color):
    """Enter, back, the next deal, back over its beginning, the deal before, quit: through a pseudo-terminal."""
    master, slave = pty.openpty()
    settings = {"TERM": "xterm"} | ({"NO_COLOR": "1"} if no_color else {})
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | settings
    process = subprocess.Popen(
        [sys.executable, "-m", "agents", "replay", str(file)],
        stdin=slave, stdout=slave, stderr=slave, cwd=ROOT, env=environment,
    )  # fmt: skip
    os.close(slave)
    first = recorded(Rules.preset("money"), 1)[0]
    actions = len(first.actions)
    try:
        for key, expected in (
            (None, "record 1, line 1"),
            ("", f"[1 of {actions}]"),
            ("", f"[2 of {actions}]"),
            ("b", f"[1 of {actions}]"),
            ("x", f"[1 of {actions}]"),
            ("n", "record 2, line 2"),
            ("b", f"[{actions} of {actions}]"),
            ("", "record 2, line 2"),
            ("p", "record 1, line 1"),
        ):
            if key is not None:
                os.write(master, f"{key}\n".encode())
            answer = until(master, "q quit> ")
            assert expected in answer
            assert ("\x1b[" in answer) == (not no_color)
        os.write(master, b"q\n")
        assert process.wait(300) == 0
    finally:
        process.kill()
        process.wait()
        os.close(master)


def until(terminal: int, end: str) -> str:
    """What a terminal shows up to a text."""
    shown, deadline = "", time.monotonic() + 300
    while end not in shown:
        ready, _, _ = select.select([terminal], [], [], max(deadline - time.monotonic(), 0))
        assert ready, f"no {end!r} in {shown!r}"
        shown += os.read(terminal, 65536).decode()
    return shown
