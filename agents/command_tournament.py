"""``tournament``: a field of agents on duplicate deals, with ratings, and a report."""

import argparse
import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import numpy as np

from agents import options as common
from agents.evaluation import write_json
from agents.intervals import around
from agents.tournament import CHUNK, Outcome, Tables, Tournament
from agents.tournament_result import print_result, report, result_of
from agents.tournament_run import BACKENDS, Journal, WorkersLost, play
from pitch_env.files import replace_atomically
from pitch_env.record import append

DESCRIPTION = (
    "Every agent meets every other one on the same duplicate deals. What counts is points per deal against each other "
    "at the same tables, with a 95 % interval over deals; ratings, bids and the share of each point are told besides."
)
EXAMPLE = "tournament greedy expert checkpoints/auction --rules auction --deals 20000 --until 0.02 --out runs/cup"


def add_options(parser: argparse.ArgumentParser) -> None:
    common.add_agents(parser)
    common.add_rules(parser)
    common.add_deals(parser, 5000, "deals of each pairing; with --until at most")
    common.add_seed(parser)
    parser.add_argument(
        "--until",
        type=points,
        metavar="POINTS",
        help="stop when no pairing's interval is wider than this on either side",
    )
    parser.add_argument(
        "--tables", choices=get_args(Tables), default="swap",
        help="swap: two agents with half of the teams each change places (default); all: every way to seat two; mixed: "
        "the whole field at the same tables",
    )  # fmt: skip
    parser.add_argument("--workers", type=common.at_least(1), metavar="N", help="processes (default: one a core)")
    parser.add_argument("--backend", choices=BACKENDS, default=BACKENDS[0], help="this machine (default), or a cluster")
    parser.add_argument(
        "--chunk", type=common.at_least(1), metavar="DEALS",
        help=f"deals of a piece of work; fewer for slow agents (default: {CHUNK}, or what the agents ask for)",
    )  # fmt: skip
    common.add_json(parser)
    common.add_record(parser)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a report with plots there")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="keep a journal of what is finished there, and result.json and report.html",
    )
    parser.add_argument("--resume", action="store_true", help="go on with the journal in --out")


def points(text: str) -> float:
    """The type of an option that is a number of points above zero."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < np.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above zero")
    return value


def run(options: argparse.Namespace) -> None:
    """Play, print tables, and write what is wanted."""
    if options.resume and options.out is None:
        raise ValueError("--resume takes --out DIR, where the journal lies")
    rules = common.chosen_rules(options)
    tournament = Tournament.between(
        options.agents, rules, seed=options.seed, tables=options.tables, chunk=options.chunk
    )
    journal = None if options.out is None else Journal(options.out, tournament, options.resume)
    records = common.record_list(options)
    try:
        with progress_bar(tournament) as watch:
            outcomes = play(
                tournament, options.deals, until=options.until, workers=options.workers or -1, backend=options.backend,
                journal=journal, watch=watch, record=records is not None,
            )  # fmt: skip
    except (KeyboardInterrupt, WorkersLost):
        if journal is not None:
            kept = f"{len(journal.outcomes):,} finished pieces of work are kept in {options.out}"
            print(f"{kept}; the same command with --resume goes on", file=sys.stderr)
        raise
    result = result_of(tournament, outcomes)
    print_result(result, f"{options.rules}, {result.deals:,} deals, tables {options.tables}, seed {options.seed}")
    if records is not None:
        append(options.record, [record for outcome in outcomes for record in outcome.records or ()])
    content = report(result, command_of(options), options.until)
    out = options.out
    for file in {options.json, out and out / "result.json"} - {None}:
        write_json(file, content)
    pages = {options.html, out and out / "report.html"} - {None}
    if pages:
        from agents.tournament_report import page  # matplotlib takes its time

        text = page(result, content).encode()
        for file in pages:
            replace_atomically(file, text)


def command_of(options: argparse.Namespace) -> str:
    """The command that plays the same again."""
    words = ["pitch", "tournament", *options.agents, "--rules", options.rules]
    if options.rule_options:
        words += ["--rule-options", json.dumps(options.rule_options)]
    for name in ("deals", "until", "tables", "chunk", "seed"):
        if getattr(options, name) is not None:
            words += [f"--{name}", str(getattr(options, name))]
    return shlex.join(words)


class Widths:
    """The intervals so far, from sums; quick to bring up to date."""

    def __init__(self, tournament: Tournament) -> None:
        self.tournament = tournament
        self.sums: dict[tuple[int, int], np.ndarray] = {}  # number, sum, sum of squares

    def add(self, outcomes: list[Outcome]) -> None:
        """Take in what has been played."""
        for outcome in outcomes:
            for pair, margins in zip(self.tournament.pairs(outcome.unit.group), outcome.margins, strict=True):
                met = margins[~np.isnan(margins)]
                self.sums[pair] = self.sums.get(pair, 0) + np.array([len(met), met.sum(), np.square(met).sum()])

    def text(self) -> str:
        """The pairing of two with its interval, or of a larger field the widest half."""
        if len(self.sums) < len(self.tournament.players) - 1 or min(n for n, _, _ in self.sums.values()) < 2:
            return ""
        found = []
        for number, total, squares in self.sums.values():
            mean = total / number
            variance = max(0.0, (squares - number * mean**2) / (number - 1))
            found.append(around(mean, (variance / number) ** 0.5, int(number)))
        if len(found) == 1:
            return f"{found[0].mean:+.3f} ±{found[0].half:.3f}"
        return f"widest ±{max(each.half for each in found):.3f}"


@contextmanager
def progress_bar(tournament: Tournament) -> Iterator:
    """A bar on the terminal with the interval so far, where there is a terminal; gives a ``watch`` for ``play``."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("")
        widths = Widths(tournament)

        def watch(outcomes: list[Outcome], units: int, begins: bool) -> None:
            if begins:
                widths.sums.clear()
            widths.add(outcomes)
            played = 0 if begins else bar.tasks[0].completed
            bar.update(task, total=units, completed=played + len(outcomes), description=widths.text())

        yield watch
