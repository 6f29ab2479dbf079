"""The command line: ``python -m agents evaluate random greedy expert --rules auction --deals 5000 --seed 1``."""

import argparse
import sys
from pathlib import Path
from typing import Any

import yaml

from agents.agent import load
from agents.evaluation import print_table, report, round_robin, write_json
from pitch_env import Rules


def main(arguments: list[str] | None = None) -> int:
    """Run a command. Returns the exit status: 0, 1 when it failed, 2 for a wrong command line."""
    options = make_parser().parse_args(arguments)
    try:
        options.run(options)
    except (ValueError, OSError) as error:
        print(f"agents: {error}", file=sys.stderr)
        return 1
    return 0


def make_parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    parser = argparse.ArgumentParser(prog="python -m agents", description="Measure players of Pitch.")
    commands = parser.add_subparsers(required=True, metavar="command")
    command = commands.add_parser(
        "evaluate",
        help="play agents against each other on duplicate deals",
        description="Every agent plays every other one on the same deals, from every seat; what counts is points per "
        "deal relative to the opponents, with a 95 %% interval over deals.",
        epilog="example: python -m agents evaluate random greedy expert --rules oklahoma --rule-options '{players: 6}'",
    )
    command.add_argument("agents", nargs="+", help="names of baselines, checkpoints, or folders of training runs")
    command.add_argument("--rules", default="auction", choices=Rules.presets(), help="the preset (default: auction)")
    command.add_argument("--rule-options", type=_mapping, default={}, help="fields of it that differ: '{players: 6}'")
    command.add_argument("--deals", type=_at_least_two, default=5000, help="deals of each match (default: 5000)")
    command.add_argument("--seed", type=_seed, default=1, help="of the deals and the agents' chance (default: 1)")
    command.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    command.set_defaults(run=evaluate)
    return parser


def evaluate(options: argparse.Namespace) -> None:
    """Play the matches, print a table, and write JSON if that is wanted."""
    rules = Rules.preset(options.rules, **options.rule_options)
    agents = [load(name) for name in options.agents]
    if len(agents) == 1:
        raise ValueError("one agent is not enough; name two or more, the same one twice if you like")
    for index, agent in enumerate(agents):  # the same name twice must still be two rows
        if any(agent.name == other.name for other in agents[:index]):
            agent.name = f"{agent.name}#{index + 1}"
    matches = list(round_robin(rules, agents, options.deals, options.seed))
    print_table(matches, f"{options.rules}, {options.deals:,} deals, seed {options.seed}")
    if options.json is not None:
        write_json(options.json, report(rules, matches, options.seed, agents))


def _mapping(text: str) -> dict[str, Any]:
    value = yaml.safe_load(text)
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a mapping such as '{{players: 6}}'")
    return value


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def _at_least_two(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 2, which an interval takes")
    return int(text)
