"""Speed of the double-dummy solver, on deals that the expert bid and played up to a trick.

``python tests/benchmarks/bench_solver.py`` prints a table: positions and deals a second, milliseconds a deal as mean,
median, 99th percentile and longest, by the processor's time. ``bench.py`` takes its rows from ``rows``.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

RULES: dict[str, dict[str, Any]] = {
    "auction": dict(name="auction"),
    "auction_pairs": dict(name="auction_pairs"),
    "auction, 2 players": dict(name="auction", players=2),
    "oklahoma": dict(name="oklahoma"),
    "money": dict(name="money"),
    "auction, 6 players": dict(name="auction", players=6),
    "oklahoma, 6 players": dict(name="oklahoma", players=6),
}
USUAL = tuple(RULES)[:4]  # the others have deals that take seconds
TRICKS = {"the first lead": 0, "trick 3": 2}


def positions(rules: Any, deals: int, trick: int) -> list[Any]:
    """Games with the first card of a trick to be led, one from each of the deals of some seeds."""
    import numpy as np

    from agents import load
    from pitch_env import VectorGame

    expert, rng, games = load("expert"), np.random.default_rng(0), []
    for seed in range(deals):
        batch = VectorGame(rules, num_games=1, seed=seed, deals=1)
        game = batch.game(0)
        while game.phase != "play" or len(game.tricks) < trick or game.trick:
            batch.step(expert.act(batch.observation, batch.mask, rng))
            game = batch.game(0)
        games.append(game)
    return games


def times(name: str, trick: int, deals: int = 100, every_card: bool = False) -> tuple[list[float], int]:
    """Seconds of the processor for each deal, and how many positions were searched in all."""
    from agents.solver import Solver
    from pitch_env import Rules

    rules = Rules.preset(**RULES[name])
    games = positions(rules, deals, trick)
    solver = Solver(rules)
    solve = solver.values if every_card else solver.value
    solve(games[0])  # compiles
    solver = Solver(rules)
    solve = solver.values if every_card else solver.value
    seconds = []
    for game in games:
        start = time.process_time()
        solve(game)
        seconds.append(time.process_time() - start)
    return seconds, solver.positions


def _deals_a_second(trick: int) -> Callable[[str], float]:
    def measure(name: str) -> float:
        seconds, _ = times(name, trick)
        return len(seconds) / sum(seconds)

    return measure


def _positions_a_second(trick: int) -> Callable[[str], float]:
    def measure(name: str) -> float:
        seconds, number = times(name, trick)
        return number / sum(seconds)

    return measure


# For bench.py: by name, what measures one figure for a preset.
MEASURES: dict[str, Callable[[str], float]] = {
    "solver_first_lead": _deals_a_second(0),
    "solver_trick_3": _deals_a_second(2),
    "positions_first_lead": _positions_a_second(0),
    "positions_trick_3": _positions_a_second(2),
}


def rows(measure: Callable[[str, str, int], float | None], figure: Callable[[float | None], str]) -> list[tuple]:
    """Rows of the table of bench.py, measured and written by its own functions."""
    what = {
        "solver_first_lead": "deals solved from the first lead, one core",
        "solver_trick_3": "deals solved from trick 3",
        "positions_first_lead": "positions that the solver searches, from the first lead",
        "positions_trick_3": "positions that the solver searches, from trick 3",
    }
    return [
        (text, *(figure(measure(name, preset, 1)) for preset in ("auction", "oklahoma")), "", "")
        for name, text in what.items()
    ]


def main() -> None:
    import numpy as np

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", nargs="*", metavar="RULES", help=f"some of: {'; '.join(RULES)}")
    parser.add_argument("--deals", type=int, default=100, help="deals of each kind (default 100)")
    options = parser.parse_args()
    if unknown := [name for name in options.rules if name not in RULES]:
        parser.error(f"no rules {unknown[0]!r}; they are {'; '.join(RULES)}")
    print(f"{'rules':20} {'from':15} {'what':7} {'M pos/s':>8} {'deals/s':>9}  ms: mean median    p99 longest")
    for name in options.rules or USUAL:
        for start, trick in TRICKS.items():
            for every_card in (False, True):
                seconds, number = times(name, trick, options.deals, every_card)
                ms = np.array(seconds) * 1e3
                quantiles = "".join(f"{value:8.2f}" for value in (*np.percentile(ms, (50, 99)), ms.max()))
                print(
                    f"{name:20} {start:15} {'values' if every_card else 'value':7} {number / ms.sum() / 1e3:8.2f} "
                    f"{1e3 / ms.mean():9.0f} {ms.mean():9.2f}{quantiles}"
                )


if __name__ == "__main__":
    main()
