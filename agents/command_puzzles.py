"""``puzzles``: in how many positions agents find what is right."""

import argparse
from pathlib import Path
from typing import Any

from agents import options as common
from agents.agent import load_all
from agents.evaluation import fingerprint, versions, write_json
from agents.puzzles import PUZZLES, Attempt, attempt, load_puzzles, score
from pitch_env.actions import action_text

DESCRIPTION = (
    "Positions in which a strong player cannot dispute what is right. Each agent is told no more than the seat to act "
    "sees; what counts is the share of its tries that are right, by theme. What it did instead is listed below."
)
EXAMPLE = "puzzles greedy expert"


def add_options(parser: argparse.ArgumentParser) -> None:
    common.add_agents(parser)
    parser.add_argument(
        "--puzzles", type=Path, default=PUZZLES, metavar="DIR", help="folder of puzzle files (default: tests/puzzles)"
    )
    parser.add_argument("--tries", type=common.at_least(1), default=10, help="tries at each puzzle (default: 10)")
    common.add_seed(parser)
    common.add_json(parser)


def run(options: argparse.Namespace) -> None:
    """Let the agents try, print a table and what each failed, and write JSON if that is wanted."""
    puzzles = load_puzzles(options.puzzles)
    agents = load_all(options.agents)
    attempts = {agent.name: attempt(agent, puzzles, options.tries, options.seed) for agent in agents}
    print_scores(attempts)
    for name, tried in attempts.items():
        print_failures(name, tried)
    if options.json is not None:
        content = {
            "what": "share of the tries at each puzzle that were right; null: the agent does not play these rules",
            "tries": options.tries,
            "seed": options.seed,
            "versions": versions(),
            "agents": {agent.name: _as_json(attempts[agent.name], fingerprint(agent)) for agent in agents},
        }
        write_json(options.json, content)


def print_scores(attempts: dict[str, list[Attempt]]) -> None:
    """Print a table: a row for each theme, a column for each agent."""
    from rich.console import Console
    from rich.table import Table

    (first, *_) = attempts.values()
    themes = sorted({each.puzzle.theme for each in first})
    grid = Table(title=f"{len(first)} puzzles, share right", title_justify="left")
    grid.add_column("theme")
    for name in ("puzzles", *attempts):
        grid.add_column(name, justify="right")
    for theme in [*themes, None]:
        rows = {
            name: [each for each in tried if theme in (None, each.puzzle.theme)] for name, tried in attempts.items()
        }
        number = sum(theme in (None, each.puzzle.theme) for each in first)
        if theme is None:
            grid.add_section()
        grid.add_row(theme or "all", str(number), *(_percent(score(tried)) for tried in rows.values()))
    console = Console()
    Console(width=console.width if console.is_terminal else 120).print(grid)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def print_failures(name: str, attempts: list[Attempt]) -> None:
    """Print the puzzles that an agent did not always get right: what it did, and what would have been right."""
    refused = sum(each.share is None for each in attempts)
    if refused:
        print(f"\n{name} does not play the rules of {refused} puzzles.")
    failed = [each for each in attempts if each.wrong]
    print(f"\n{name} failed {len(failed)} of {len(attempts) - refused}{':' if failed else '.'}")
    for each in failed:
        share = f" ({each.share:.0%} right)" if each.share else ""
        right = " or ".join(map(action_text, each.puzzle.right))
        print(f"  {each.puzzle.name}: {', '.join(each.wrong)} instead of {right}{share}")


def _as_json(attempts: list[Attempt], digest: str) -> dict[str, Any]:
    return {
        "fingerprint": digest,
        "score": score(attempts),
        "puzzles": [
            {
                "name": each.puzzle.name,
                "theme": each.puzzle.theme,
                "phase": each.puzzle.phase,
                "share": each.share,
                "right": [action_text(action) for action in each.puzzle.right],
                "wrong": list(each.wrong),
            }
            for each in attempts
        ],
    }
