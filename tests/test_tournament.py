"""Tournaments: who sits where, what a deal says, the same to the bit however it is run, nothing finished is lost."""

import contextlib
import itertools
import json
import os
import re
import signal
import sys
import threading
import time
from concurrent.futures.process import BrokenProcessPool

import joblib.externals.loky.reusable_executor as loky
import numpy as np
import pytest

from agents import cli, load, tournament_run
from agents.evaluation import play_tables
from agents.intervals import interval
from agents.tournament import Outcome, Player, Tournament, Unit, half_splits, margins_of, play_unit, seatings
from agents.tournament_report import page
from agents.tournament_result import report, result_of
from agents.tournament_run import Journal, WorkersLost, play, widest_half
from pitch_env import Game, Rules

AUCTION = Rules.preset("auction")
TWO = Rules.preset("auction", players=2)


def nobodies(number, rules, **options):
    """A tournament of players who need not exist, for they never play."""
    players = tuple(Player(f"player {i}", f"player {i}", "0" * 16) for i in range(number))
    return Tournament(rules, players, **options)


def as_json(outcomes):
    return [outcome.to_json() for outcome in outcomes]


# Who sits where.


@pytest.mark.parametrize("teams", range(2, 9))
def test_two_who_swap_have_half_the_teams_each_in_every_way_equally_often(teams):
    tournament = nobodies(2, Rules.preset("money", players=teams))
    seating = seatings(tournament, Unit(0, 0, len(half_splits(teams))))
    assert seating.shape[1:] == (2, teams)
    assert (seating[:, 0] == 1 - seating[:, 1]).all()
    assert ((seating == 0).sum(2) == [teams // 2, teams - teams // 2]).all()
    tables = [tuple(table) for deal in seating for table in deal]
    halves = [way for way in itertools.product((0, 1), repeat=teams) if way.count(0) in (teams // 2, -(-teams // 2))]
    assert sorted(tables) == sorted(halves)


@pytest.mark.parametrize(("teams", "tables"), [(2, 2), (3, 6), (4, 14), (5, 10), (8, 16)])
def test_all_seatings_of_two_are_mixed_and_treat_both_alike(teams, tables):
    tournament = nobodies(2, Rules.preset("money", players=teams), tables="all")
    for seating in seatings(tournament, Unit(0, 0, 2)):
        ways = {tuple(way) for way in seating}
        assert len(ways) == len(seating) == tables
        assert ways == {tuple(1 - np.array(way)) for way in ways}
        assert (seating.mean(0) == 0.5).all()
        assert all(0 < sum(way) < teams for way in ways)


@pytest.mark.parametrize(("number", "teams"), [(3, 3), (3, 4), (6, 4), (5, 3)])
def test_mixed_tables_give_each_player_each_team_once_a_deal_and_all_pairs_alike(number, teams):
    tournament = nobodies(number, Rules.preset("money", players=teams), tables="mixed", chunk=600)
    seating = seatings(tournament, Unit(0, 0, 600))
    assert seating.shape == (600, number, teams)
    for deal in seating:
        assert (np.sort(deal, axis=0) == np.arange(number)[:, None]).all()
    if number >= teams:
        assert all(len(set(table)) == teams for deal in seating for table in deal)
    met = [
        sum({i, j} <= set(table) for deal in seating for table in deal)
        for i, j in itertools.combinations(range(number), 2)
    ]
    assert min(met) > 0.85 * max(met)


# What a deal says.


@pytest.mark.parametrize("tables", ["swap", "all", "mixed"])
@pytest.mark.parametrize("name", ["auction", "oklahoma"])
def test_a_margin_is_what_the_games_say_one_by_one(name, tables):
    rules = Rules.preset(name, players=6) if name == "oklahoma" else AUCTION
    tournament = Tournament.between(["greedy", "expert", "greedy"], rules, tables=tables, chunk=2)
    unit = Unit(0, 2, 4)
    outcome = play_unit(tournament, unit)
    group = [load(tournament.players[player].source) for player in tournament.groups[0]]
    seeds = np.random.SeedSequence([1, 2]).generate_state(2, np.uint64)
    for deal, (seed, seating) in enumerate(zip(seeds, seatings(tournament, unit), strict=True)):
        margins = {pair: [] for pair in itertools.combinations(range(len(group)), 2)}
        for table in seating:
            change = np.array(one_deal(rules, [group[player] for player in table], int(seed)).score_change)
            for first, second in margins:
                if {first, second} <= set(table):
                    margins[first, second].append(change[table == first].mean() - change[table == second].mean())
        assert outcome.margins[:, deal] == pytest.approx([np.mean(values) for values in margins.values()])


def one_deal(rules, by_team, seed):
    """A deal played by a ``Game``."""
    game = Game(rules, seed=seed, deals=1)
    while game.actor is not None:
        agent = by_team[rules.team_of(game.actor)]
        game.apply(int(agent.act(game.observation(game.actor)[None], game.legal_mask()[None], None)[0]))
    return game.last_deal


def test_every_pairing_plays_the_same_deals():
    tournament = Tournament.between(["greedy", "greedy", "greedy"], TWO, chunk=20)
    first, second, third = (play_unit(tournament, Unit(group, 0, 20)) for group in range(3))
    assert (first.margins == second.margins).all()
    assert (first.calls == third.calls).all()


@pytest.mark.parametrize("tables", ["swap", "all"])
def test_who_plays_without_chance_is_exactly_even_with_himself(tables):
    outcome = play_unit(Tournament.between(["greedy", "greedy"], AUCTION, tables=tables), Unit(0, 0, 10))
    assert (np.abs(outcome.margins) < 1e-12).all()


# Intervals that hold, and how much duplicate deals narrow them.


def test_zero_is_outside_the_interval_of_equal_players_5_times_in_100():
    """Over 600 pairings in 200 tournaments: 10 % or 1 % would fail by three or four standard deviations."""
    outside = []
    for seed in range(200):
        tournament = Tournament.between(["random"] * 3, TWO, seed=seed)
        margins = margins_of(tournament, play(tournament, 40, workers=1))
        outside += [not found.low < 0 < found.high for found in map(interval, margins.values())]
    assert len(outside) == 600
    assert 0.027 < np.mean(outside) < 0.076


def test_stopping_when_the_interval_is_narrow_leaves_the_interval_right(monkeypatch):
    """With deals that are simply drawn, from skewed distributions, whose luck in widths is luck in means too."""
    rng = np.random.default_rng(0)

    def drawn(tournament, units, workers, backend, record):
        for unit in units:
            margins = rng.gamma(2, size=(1, unit.stop - unit.start)) - 2
            yield Outcome(unit, margins, *[np.zeros(2, np.int64)] * 6)

    monkeypatch.setattr(tournament_run, "run_units", drawn)
    tournament = nobodies(2, TWO, chunk=50)
    found = [interval(margins_of(tournament, play(tournament, 10**6, until=0.15))[0, 1]) for _ in range(600)]
    assert all(each.half <= 0.15 for each in found)
    assert np.mean([not each.low < 0 < each.high for each in found]) < 0.08
    assert abs(np.mean([each.mean for each in found])) < 0.02


def test_duplicate_deals_narrow_the_interval_by_the_factors_that_the_docs_state():
    """Against one table a deal: with as many deals, and with as many games."""
    deals = 3000
    splits = np.concatenate([half_splits(4), 1 - half_splits(4)])
    seating = splits[np.arange(deals) % len(splits)]
    seeds = np.random.SeedSequence(5).generate_state(deals, np.uint64)
    agents = [load("expert"), load("greedy")]
    change = play_tables(AUCTION, agents, seating, seeds, np.random.default_rng(0))["change"][:, :4]
    alone = (change * (1 - 2 * seating)).sum(1) / 2
    tournament = Tournament.between(["expert", "greedy"], AUCTION)
    twice = margins_of(tournament, play(tournament, deals, workers=1))[0, 1]
    assert alone.std() / twice.std() == pytest.approx(1.51, rel=0.06)
    assert alone.std() / twice.std() / 2**0.5 == pytest.approx(1.07, rel=0.06)


# Running.

FIELD = Tournament.between(["random", "greedy", "expert"], AUCTION, seed=3, chunk=16)
DEALS = 100  # six chunks and a short one, of three pairings


@pytest.fixture(scope="module")
def played():
    return play(FIELD, DEALS, workers=1)


def test_the_result_is_the_same_to_the_bit_for_two_workers_and_in_any_order(played):
    assert as_json(play(FIELD, DEALS, workers=2)) == as_json(played)
    backwards = [play_unit(FIELD, unit) for unit in reversed(FIELD.units(DEALS))]
    assert as_json(reversed(backwards)) == as_json(played)


def test_another_seed_is_another_tournament_and_more_deals_go_on_with_the_same(played):
    other = Tournament.between(["random", "greedy", "expert"], AUCTION, seed=4, chunk=16)
    assert as_json(play(other, DEALS, workers=1))[0]["margins"] != as_json(played)[0]["margins"]
    assert as_json(play(FIELD, 112, workers=1))[:18] == as_json(played)[:18]


def test_outcomes_survive_json(played):
    for outcome in played[:3]:
        content = outcome.to_json()
        assert outcome.from_json(json.loads(json.dumps(content))).to_json() == content


def test_until_plays_as_much_as_the_width_takes_and_no_more_than_allowed():
    field = Tournament.between(["greedy", "random"], TWO, chunk=20)
    outcomes = play(field, 20000, until=0.1, workers=1)
    deals = len(margins_of(field, outcomes)[0, 1])
    assert widest_half(field, outcomes) <= 0.1 < widest_half(field, outcomes[: int(0.85 * len(outcomes))])
    assert len(margins_of(field, play(field, deals - 30, until=0.1, workers=1))[0, 1]) == deals - 30


def test_a_pairing_that_seems_even_so_far_does_not_count_as_clear():
    field = Tournament.between(["greedy", "greedy"], TWO)
    assert len(margins_of(field, play(field, 1500, until=0.1, workers=1))[0, 1]) == 1500


def test_records_of_all_deals_are_kept_in_the_journal_too(tmp_path):
    field = Tournament.between(["greedy", "random"], TWO, chunk=10)
    outcomes = play(field, 20, workers=2, journal=Journal(tmp_path, field), record=True)
    assert [len(outcome.records) for outcome in outcomes] == [20, 20]  # two tables a deal
    names = {record.game for outcome in outcomes for record in outcome.records}
    assert len(names) == 40
    resumed = Journal(tmp_path, field, resume=True)
    assert as_json(play(field, 20, workers=1, journal=resumed, record=True)) == as_json(outcomes)


def test_records_cannot_be_had_of_deals_that_were_played_without(tmp_path):
    field = Tournament.between(["greedy", "random"], TWO, chunk=10)
    journal = Journal(tmp_path, field)
    play(field, 10, workers=1, journal=journal)
    with pytest.raises(ValueError, match="no records of the deals that are finished"):
        play(field, 20, workers=1, journal=journal, record=True)


def test_a_journal_that_was_cut_off_goes_on_where_it_was(played, tmp_path):
    play(FIELD, DEALS, workers=1, journal=Journal(tmp_path, FIELD))
    file = tmp_path / "journal.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:9]) + lines[9][:100])
    seen = []
    journal = Journal(tmp_path, FIELD, resume=True)
    outcomes = play(FIELD, DEALS, workers=1, journal=journal, watch=lambda new, units, begins: seen.append(len(new)))
    assert as_json(outcomes) == as_json(played)
    assert seen == [8] + 13 * [1]
    assert sorted(file.read_bytes().splitlines()) == sorted(b"".join(lines).splitlines())


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (
            Tournament.between(["random", "greedy", "greedy"], AUCTION, seed=3, chunk=16),
            "it is between random .*expert",
        ),
        (Tournament.between(["random", "greedy", "expert"], AUCTION, seed=4, chunk=16), "its seed is 3, here it is 4"),
        (
            Tournament.between(["random", "greedy", "expert"], TWO, seed=3, chunk=16),
            "its rules.players is 4, here it is 2",
        ),
        (Tournament.between(["random", "greedy", "expert"], AUCTION, seed=3, chunk=8), "its chunk is 16"),
        (
            Tournament(AUCTION, (*FIELD.players[:2], Player("expert", "expert", "f" * 16)), 3, chunk=16),
            "expert .f{16}",
        ),
    ],
)
def test_the_journal_of_another_tournament_is_refused_with_the_reason(other, says, tmp_path):
    journal = Journal(tmp_path, FIELD)
    journal.add(play_unit(FIELD, Unit(0, 0, 16)))
    before = journal.path.read_bytes()
    with pytest.raises(ValueError, match=says):
        Journal(tmp_path, other, resume=True)
    with pytest.raises(ValueError, match="holds a tournament already"):
        Journal(tmp_path, FIELD)
    assert journal.path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"{}\n", b"no\n", b"[1, 2]\n", b'{"format": 1}\n', b"\xff\n"])
def test_what_is_no_journal_is_refused(content, tmp_path):
    (tmp_path / "journal.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match="is not the journal of a tournament, or a damaged one"):
        Journal(tmp_path, FIELD, resume=True)


def test_there_must_be_something_to_resume(tmp_path):
    with pytest.raises(ValueError, match="holds no tournament to resume"):
        Journal(tmp_path, FIELD, resume=True)


def kill_workers():
    """Kill all worker processes. Returns how many there were."""
    processes = list(getattr(loky._executor, "_processes", None) or ())
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return len(processes)


def test_when_a_worker_is_killed_its_work_is_done_by_another(played):
    killed = []

    def watch(new, units, begins):
        if not begins and not killed:
            killed.append(kill_workers())

    assert as_json(play(FIELD, DEALS, workers=2, watch=watch)) == as_json(played)
    assert killed == [2]


def test_workers_may_die_often_as_long_as_something_is_finished_in_between(played, monkeypatch):
    def one_and_no_more(play_one, units, workers, keywords):
        yield play_one(units[0])
        if len(units) > 1:
            raise BrokenProcessPool

    monkeypatch.setattr(tournament_run, "_parallel", one_and_no_more)
    assert as_json(play(FIELD, 32)) == as_json(played[:6])


def test_when_all_workers_are_killed_it_fails_and_what_was_finished_is_kept(played, tmp_path):
    journal = Journal(tmp_path, FIELD)
    for unit in FIELD.units(DEALS)[:5]:
        journal.add(play_unit(FIELD, unit))
    over = threading.Event()

    def kill():
        while not over.is_set():
            kill_workers()
            time.sleep(0.005)

    if loky._executor is not None:
        loky._executor.shutdown(kill_workers=True)  # new ones take so long to begin that none will finish anything
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with pytest.raises(WorkersLost, match=r"3 times in a row a worker process died.*fewer --workers"):
            play(FIELD, DEALS, workers=2, journal=journal)
    finally:
        over.set()
        killer.join()
    resumed = Journal(tmp_path, FIELD, resume=True)
    assert len(resumed.outcomes) >= 5
    assert as_json(play(FIELD, DEALS, workers=1, journal=resumed)) == as_json(played)


def test_an_agent_that_changed_meanwhile_is_refused():
    changed = Tournament(TWO, (FIELD.players[0], Player("greedy", "greedy", "f" * 16)))
    with pytest.raises(ValueError, match="greedy is not what it was when the tournament began"):
        play(changed, 4, workers=1)


def test_ray_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"pip install 'pitch-env\[ray\]'"):
        play(FIELD, 4, backend="ray")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tables": "round"}, "tables='round' is not allowed; they are swap, all, mixed"),
        ({"tables": "mixed", "rules": TWO}, "it takes at least 3 of each"),
        ({"chunk": 0}, "chunk=0 is not allowed"),
        ({"names": ["random"]}, "one agent is not enough"),
        ({"names": ["random", "nobody"]}, "no agent 'nobody'"),
    ],
)
def test_what_cannot_be_played_is_refused(options, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        Tournament.between(**{"names": ["random", "greedy", "expert"], "rules": AUCTION, **options})


@pytest.mark.parametrize(
    ("options", "says"),
    [({"deals": 1}, "deals=1"), ({"until": 0.0}, "until=0.0"), ({"backend": "dask"}, "backend='dask'")],
)
def test_what_cannot_be_run_is_refused(options, says):
    with pytest.raises(ValueError, match=f"{says} is not allowed"):
        play(FIELD, **{"deals": 20, **options})


# What is told.


def test_the_standings_sum_up_the_margins_and_the_counts(played):
    result = result_of(FIELD, played)
    margins = margins_of(FIELD, played)
    assert [standing.name for standing in result.standings] == ["expert", "greedy", "random"]
    against_all = interval((-margins[0, 2] - margins[1, 2]) / 2)
    points = result.standings[0].points
    assert (points.low, points.mean, points.high) == pytest.approx(
        (against_all.low, against_all.mean, against_all.high)
    )
    assert sum(standing.points.mean for standing in result.standings) == pytest.approx(0, abs=1e-12)
    assert sum(standing.rating.mean for standing in result.standings) == pytest.approx(0, abs=1e-6)
    assert result.margin("greedy", "expert").mean == pytest.approx(margins[1, 2].mean())
    assert result.margin("expert", "greedy").low == -result.margin("greedy", "expert").high
    assert result.margin("expert", "expert") is None
    pairing = result.pairings[0]
    assert (pairing.first, pairing.second, pairing.deals) == ("expert", "greedy", DEALS)
    assert (pairing.wins, pairing.losses) == ((margins[1, 2] < 0).sum(), (margins[1, 2] > 0).sum())
    for standing in result.standings:
        assert sum(count.deals for count in standing.bids) == round(standing.pitched * DEALS * 2 * 4)
        assert standing.even == 0.5
    pitched = sum(standing.pitched for standing in result.standings)
    assert pitched == pytest.approx(3 / 4)  # each table has one pitcher of four


def test_of_two_all_points_go_to_the_one_or_the_other():
    pair = Tournament.between(["greedy", "expert"], Rules.preset("oklahoma"))
    first, second = result_of(pair, play(pair, 100, workers=1)).standings
    assert [share.item for share in first.shares] == [
        *("high", "low", "jack", "game", "off_jack", "high_joker", "low_joker"),
    ]
    for mine, other in zip(first.shares, second.shares, strict=True):
        assert mine.awarded == other.awarded == mine.taken + other.taken > 0


def test_a_field_larger_than_the_table_is_rated_though_not_all_meet_in_each_deal():
    field = Tournament.between(
        ["random", "greedy", "expert", "greedy", "random", "expert"], Rules.preset("money", players=3), tables="mixed"
    )
    outcomes = play(field, 300, workers=1)
    assert any(np.isnan(margins).any() for margins in margins_of(field, outcomes).values())
    result = result_of(field, outcomes)
    assert [standing.name[:6] for standing in result.standings] == [
        "expert",
        "expert",
        "greedy",
        "greedy",
        "random",
        "random",
    ]
    equal = result.margin("greedy", "greedy#4")
    assert equal.low < 0 < equal.high
    json.dumps(report(result), allow_nan=False)


def test_the_report_stands_alone_and_escapes_names(played):
    players = (Player("<b>random", "random", "0" * 16), *FIELD.players[1:])
    result = result_of(Tournament(FIELD.rules, players, FIELD.seed, chunk=FIELD.chunk), played)
    text = page(result, report(result, "pitch tournament a b"))
    assert text == page(result, report(result, "pitch tournament a b"))
    assert text.count('<img alt="') == 5
    assert "&lt;b&gt;random" in text
    assert "<b>random" not in text
    assert not re.search(r"""(src|href)=["'](?!data:)|<script|@import""", text)


def test_the_command_prints_tables_and_writes_what_is_wanted(tmp_path, capfd):
    names = ("cup/result.json", "cup/report.html", "other.json", "other.html")
    arguments = [
        "tournament",
        "random",
        "greedy",
        "--rules",
        "auction",
        "--rule-options",
        "{players: 3}",
        "--seed",
        "9",
    ]
    arguments += ["--deals", "60", "--workers", "1", "--out", str(tmp_path / "cup")]
    wanted = ["--json", str(tmp_path / "other.json"), "--html", str(tmp_path / "other.html")]
    assert cli.main([*arguments, *wanted]) == 0
    printed = capfd.readouterr()
    assert "points per deal of the row against the column" in printed.out
    assert printed.err == ""  # no bar where there is no terminal
    result_json, report_html, other_json, other_html = ((tmp_path / name).read_text() for name in names)
    assert (result_json, report_html) == (other_json, other_html)
    content = json.loads(result_json)
    assert content["command"].startswith(
        "pitch tournament random greedy --rules auction --rule-options '{\"players\": 3}'"
    )
    assert {"python", "numpy", "pitch-env"} <= set(content["versions"])
    assert [player["name"] for player in content["players"]] == ["random", "greedy"]
    assert content["rules"]["players"] == 3
    assert content["deals"] == 60
    low, mean, high = (content["pairings"][0]["margin"][name] for name in ("low", "mean", "high"))
    assert low < mean < high
    assert content["standings"][0]["name"] == "greedy"
    assert cli.main([*arguments]) == 1
    assert "--resume" in capfd.readouterr().err
    assert cli.main([*arguments, "--resume"]) == 0
    assert json.loads((tmp_path / "cup/result.json").read_text()) == content


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["random"], 1, "one agent is not enough"),
        (["random", "greedy", "--resume"], 1, "--resume takes --out"),
        (["random", "greedy", "--until", "0"], 2, "is not a number above zero"),
        (["random", "greedy", "--tables", "round"], 2, "swap"),
        (["random", "greedy", "--tables", "mixed"], 1, "at least 3 of each"),
        (["random", "greedy", "--workers", "0"], 2, "at least 1"),
    ],
)
def test_a_wrong_command_is_refused_with_one_line_that_says_why(arguments, status, says, capsys):
    with pytest.raises(SystemExit) as stop:
        sys.exit(cli.main(["tournament", *arguments]))
    assert stop.value.code == status
    assert says in capsys.readouterr().err
