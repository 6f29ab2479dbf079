"""``play``: a person at a table with agents, in the terminal or in a browser."""

import argparse
import contextlib
from pathlib import Path

from agents import options as common
from agents.table import Table

DESCRIPTION = (
    "Play against agents. The terminal asks when it is your turn; type ? there for a hint and help for all that it "
    "understands. What is piped in is read line by line, and colours are left out where they would not show."
)
EXAMPLE = "play --rules auction --against expert,auction,auction"


def add_options(parser: argparse.ArgumentParser) -> None:
    common.add_rules(parser)
    parser.add_argument(
        "--against", type=common.names, default=["expert"], metavar="AGENT,...",
        help="who sits to your left and on around the table; the last one takes all seats that are left "
        "(default: expert)",
    )  # fmt: skip
    parser.add_argument("--seat", type=common.at_least(0), default=0, help="yours (default: 0)")
    parser.add_argument("--deals", type=common.at_least(1), help="deals of a game (default: until the target, or 12)")
    common.add_seed(parser, None)
    parser.add_argument("--hint", metavar="AGENT", help="who gives hints (default: one of the others)")
    parser.add_argument("--load", type=Path, metavar="FILE", help="go on with a saved table; it knows rules and agents")
    parser.add_argument("--record", type=Path, metavar="FILE", help="add a record of each deal to this file")


def run(options: argparse.Namespace) -> None:
    """Sit down and play."""
    from agents import play_terminal

    console = play_terminal.make_console()
    with console.status("The table is being set") if console.color_system else contextlib.nullcontext():
        table = _table(options)
    play_terminal.play(table, console)


def _table(options: argparse.Namespace) -> Table:
    if options.load is not None:
        return Table.load(options.load)
    return Table(
        common.chosen_rules(options), options.against, seat=options.seat, seed=options.seed, deals=options.deals,
        hint=options.hint,
    )  # fmt: skip
