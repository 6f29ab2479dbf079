"""``evaluate``: agents against each other on duplicate deals."""

import argparse
from collections.abc import Iterable, Iterator

from agents import options as common
from agents.agent import load_all
from agents.evaluation import Match, print_table, report, round_robin, write_json
from pitch_env.record import append

DESCRIPTION = (
    "Every agent plays every other one on the same deals, from every seat; what counts is points per deal relative to "
    "the opponents, with a 95 % interval over deals."
)
EXAMPLE = "evaluate random greedy expert --rules oklahoma --rule-options '{players: 6}'"


def add_options(parser: argparse.ArgumentParser) -> None:
    common.add_agents(parser)
    common.add_rules(parser)
    common.add_deals(parser, 5000, "deals of each match")
    common.add_seed(parser)
    common.add_json(parser)
    common.add_record(parser)


def run(options: argparse.Namespace) -> None:
    """Play the matches, print a table, and write JSON and records if they are wanted."""
    rules = common.chosen_rules(options)
    agents = load_all(options.agents)
    if len(agents) == 1:
        raise ValueError("one agent is not enough; name two or more, the same one twice if you like")
    records = common.record_list(options)
    pairings = round_robin(rules, agents, options.deals, options.seed, records)
    matches = list(_tracked(pairings, len(agents) * (len(agents) - 1)))
    print_table(matches, f"{options.rules}, {options.deals:,} deals, seed {options.seed}")
    if options.json is not None:
        write_json(options.json, report(rules, matches, options.seed, agents))
    if records is not None:
        append(options.record, records)


def _tracked(matches: Iterator[Match], number: int) -> Iterable[Match]:
    """The matches, with a progress bar where errors go to a terminal."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(matches, "Playing", number, console=console, transient=True, disable=not console.is_terminal)
