"""``play``: a person at a table with agents, in the terminal or in a browser."""

import argparse
import contextlib
import json
from collections.abc import Callable
from pathlib import Path

from agents import options as common
from agents.table import Table
from pitch_env.files import replace_atomically

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
    parser.add_argument("--come-and-go", action="store_true", help="agents come and go between deals, without a target")
    parser.add_argument("--load", type=Path, metavar="FILE", help="go on with a saved table; it knows rules and agents")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep a record of each deal in this file")
    parser.add_argument("--web", action="store_true", help="play in a browser on this computer instead of the terminal")
    parser.add_argument("--port", type=common.at_least(1), default=8080, help="where --web serves (default: 8080)")
    parser.add_argument(
        "--pace", type=common.at_least(1), default=600, metavar="MS",
        help="with --web, milliseconds between the actions of agents (default: 600)",
    )  # fmt: skip
    parser.add_argument("--no-browser", action="store_true", help="with --web, open none")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="with --web, game records to look at there")


def run(options: argparse.Namespace) -> None:
    """Sit down and play. Raises ValueError or OSError for options that cannot be."""
    if options.replay is not None and not options.web:
        raise ValueError(f"--replay is for --web; say pitch replay {options.replay} for the terminal")
    from agents import play_terminal

    console = play_terminal.make_console()
    with console.status("The table is being set") if console.color_system else contextlib.nullcontext():
        table = _table(options)
    if options.record is not None:
        keep_records(options.record, table)  # a file that cannot be written is refused before the play

    def changed(table: Table) -> None:
        keep_records(options.record, table)

    if options.web:
        _serve(table, changed, options)
    else:
        play_terminal.play(table, console, changed)


def _serve(table: Table, changed: Callable[[Table], None], options: argparse.Namespace) -> None:
    try:
        from agents import play_web
    except ModuleNotFoundError as error:
        raise ValueError(f"--web needs {error.name}: pip install 'pitch-env[web]'") from None
    show, pace = not options.no_browser, options.pace / 1000
    play_web.serve(table, options.port, changed, options.replay, pace, show)


def _table(options: argparse.Namespace) -> Table:
    if options.load is not None:
        return Table.load(options.load)
    return Table(
        common.chosen_rules(options), options.against, seat=options.seat, seed=options.seed, deals=options.deals,
        hint=options.hint, restless=options.come_and_go,
    )  # fmt: skip


def keep_records(path: Path | None, table: Table) -> None:
    """Write the finished deals of a table's game to a file of records, in the place of what it had of that game.

    So a deal that was taken back is not there, and one that was played before the table was saved is there once.

    Raises:
        ValueError: the file is there and holds something else.
        OSError: it cannot be read or written.
    """
    if path is None:
        return
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        kept = [line for line in lines if line.strip() and json.loads(line)["game"] != table.game_name]
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{path} is not a file of game records") from None
    new = [record.to_json() for record in table.records]
    replace_atomically(path, "".join(f"{line}\n" for line in [*kept, *new]).encode())
