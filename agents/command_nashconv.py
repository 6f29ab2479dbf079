"""``nashconv``: how far agents are from an equilibrium, exactly, in games with a short deck."""

import argparse
from dataclasses import asdict
from typing import Any

from agents import options as common
from agents.agent import Agent, load_all
from agents.evaluation import fingerprint, trained_for, versions, write_json
from agents.nashconv import MAX_NODES, NashConv, nash_conv, policy_of
from pitch_env import Rules

DESCRIPTION = (
    "What each seat could gain by the best answer to an agent that plays all other seats: exactly, over all deals, in "
    "points per deal relative to the opponents. Their sum is NashConv, which is 0 in an equilibrium. It takes a game "
    "of a few cards. What counts of a network is its probabilities. Without rules, an agent's own are taken."
)
EXAMPLE = "nashconv random greedy --rule-options '{players: 2, ranks: TJA, suits: CD, hand_size: 2}'"


def add_options(parser: argparse.ArgumentParser) -> None:
    common.add_agents(parser)
    common.add_rules(parser)
    parser.set_defaults(rules=None)
    parser.add_argument("--dealer", type=common.at_least(0), help="the seat that deals (default: drawn)")
    parser.add_argument(
        "--deterministic", action="store_true", help="measure what agents do in matches, not their probabilities"
    )
    parser.add_argument(
        "--limit",
        type=common.at_least(1),
        default=MAX_NODES,
        help=f"decisions that all deals together may have (default: {MAX_NODES:,})",
    )
    common.add_json(parser)


def run(options: argparse.Namespace) -> None:
    """Measure the agents, print a table, and write JSON if that is wanted."""
    agents = load_all(options.agents)
    rules = rules_of(options, agents)
    found = {
        agent.name: nash_conv(rules, policy_of(agent, options.deterministic), options.dealer, options.limit)
        for agent in agents
    }
    print_table(found, rules)
    if options.json is not None:
        content: dict[str, Any] = {
            "what": "points per deal relative to the opponents that each seat can gain; nash_conv is their sum",
            "rules": rules.to_dict(),
            "dealer": options.dealer,
            "deterministic": options.deterministic,
            "versions": versions(),
            "agents": {agent.name: {"fingerprint": fingerprint(agent)} | asdict(found[agent.name]) for agent in agents},
        }
        write_json(options.json, content)


def rules_of(options: argparse.Namespace, agents: list[Agent]) -> Rules:
    """The rules of the options, or those that the agents were trained for. Raises ValueError, OSError."""
    if options.rules or options.rule_options:
        options.rules = options.rules or "auction"
        return common.chosen_rules(options)
    trained = [rules for agent in agents if (rules := trained_for(agent)) is not None]
    if not trained:
        raise ValueError("there are no rules; name some with --rules or --rule-options")
    return trained[0]


def print_table(found: dict[str, NashConv], rules: Rules) -> None:
    """Print a row for each agent."""
    from rich.console import Console
    from rich.table import Table

    (first, *_) = found.values()
    title = f"{first.deals:,} deals, {first.nodes:,} decisions in all, {first.infosets:,} information sets"
    grid = Table(title=title, title_justify="left")
    grid.add_column("agent")
    columns = ("NashConv", *(["exploitability"] if rules.players == 2 else []), "gain by seat", "value by seat")
    for name in columns:
        grid.add_column(name, justify="right")
    for name, result in found.items():
        half = [f"{result.nash_conv / 2:.6f}"] if rules.players == 2 else []
        gains, values = (" ".join(f"{each:+.3f}" for each in each_seat) for each_seat in (result.gains, result.values))
        grid.add_row(name, f"{result.nash_conv:.6f}", *half, gains, values)
    console = Console()
    Console(width=console.width if console.is_terminal else 120).print(grid)
