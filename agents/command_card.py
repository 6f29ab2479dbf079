"""``card``: make a trained agent ready to ship, with a card that says what it is worth."""

import argparse
from pathlib import Path

from agents import options as common
from agents.card import OPPONENTS, Measures
from agents.puzzles import PUZZLES

DESCRIPTION = (
    "Copies the agent of a finished run into a folder, plays it against every opponent on duplicate deals, lets it "
    "solve puzzles, and writes what came of it beside it, for people (card.md) and for programs (card.json), with the "
    "learning curve and what exploiters found."
)
EXAMPLE = "card runs/auction --out checkpoints/auction --exploiters runs/exploit"


def add_options(parser: argparse.ArgumentParser) -> None:
    usual = Measures()
    parser.add_argument("run", type=Path, help="the folder of a finished run, or a shipped one, to measure it anew")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="the folder that is written; its name is the agent's"
    )
    parser.add_argument(
        "--opponents", nargs="+", default=list(OPPONENTS), metavar="AGENT",
        help=f"the strongest last: its bids and cards are tried in the agent's place (default: {' '.join(OPPONENTS)})",
    )  # fmt: skip
    common.add_deals(parser, usual.deals, "deals of each match")
    parser.add_argument(
        "--search-deals", type=common.at_least(2), default=usual.slow_deals, metavar="DEALS",
        help=f"deals of matches with agents that think for long (default: {usual.slow_deals})",
    )  # fmt: skip
    common.add_seed(parser, usual.seed)
    parser.add_argument(
        "--puzzles", type=Path, default=PUZZLES, metavar="DIR", help="folder of puzzle files (default: tests/puzzles)"
    )
    parser.add_argument(
        "--exploiters",
        type=Path,
        nargs="+",
        default=[],
        metavar="RUN",
        help="folders of finished runs of exploit or train --against this agent",
    )
    notes = parser.add_mutually_exclusive_group()
    notes.add_argument("--note", metavar="TEXT", help="what else there is to say, in Markdown")
    notes.add_argument("--note-file", type=Path, metavar="FILE", help="the same from a file")


def run(options: argparse.Namespace) -> None:
    """Measure, write, and say what the weaknesses are."""
    from rich.console import Console

    from agents.card import make

    note = options.note if options.note_file is None else common.read_text(options.note_file)
    measures = Measures(options.opponents, options.deals, options.search_deals, options.seed, options.puzzles)
    with Console(stderr=True).status("reading the run") as status:
        card = make(options.run, options.out, measures, exploiters=options.exploiters, note=note, tell=status.update)
    print(f"written: {options.out}")
    for sentence in card["weaknesses"]:
        print(f"- {sentence}")
