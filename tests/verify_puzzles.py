"""Whether what the puzzles say is right: ``python tests/verify_puzzles.py [--deals N] [NAME ...]``.

Deals are drawn from all that the actor of a puzzle cannot tell from the true one.

- ``every deal``: in each, all actions are searched to the end of the deal with all hands open, the actor's team against
  the rest; what is right is never worse than what is wrong, and sometimes better.
- ``average``: all actions are tried in the same deals, the expert plays on in all seats, and what is right is better on
  average by more than three standard errors.
- ``most deals``: as in every deal, but one in twenty of the differences may be the other way; and ``average`` besides.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from agents import load
from agents.puzzles import PUZZLES, Puzzle, load_puzzles
from agents.returns import relative
from pitch_env import VectorGame, engine
from pitch_env.actions import MOON_CALL, action_text
from pitch_env.cards import lowest
from pitch_env.kernel import kernel, records
from pitch_env.money import settle
from pitch_env.rules import pack
from pitch_env.scoring import team_of
from pitch_env.state import NOBODY, STATE, Phase

DEPTH = 60  # records for one line of play
WIN = 1000  # more than points can be
ERRORS, EXCEPTIONS = 3, 0.05
TODO, LOW, HIGH, MINE = range(4)  # of a node of the search


def sampled(puzzle: Puzzle, deals: int, seed: int = 0) -> VectorGame:
    """The puzzle's position in so many deals that its actor cannot tell from the true one."""
    batch = VectorGame(puzzle.rules, deals, deals=1)
    batch.states[:] = puzzle.game._states[0]
    return batch.determinize(puzzle.game.actor, seed)


# In every deal: full search with open hands, the engine's own kernels, nothing clever.


@kernel(inline=False)
def outcome(rules, public, team, goal_is_game):
    """What a deal that is over is worth to a team: relative points times the other teams, or the game won or lost."""
    if goal_is_game:
        return np.int64(0) if public.winner == NOBODY else np.int64(WIN if public.winner == team else -WIN)
    total = np.int64(0)
    for other in range(rules.teams):
        total += public.change[other]
    return public.change[team] * np.int64(rules.teams) - total


@kernel(inline=False)
def enter(rules, state, node, team, low, high):
    """Make a node of the search of a position: the cards still to try, the bounds of its value, whose choice it is."""
    public = state.public
    node[TODO], _ = engine.legal(rules, public, state.hands[public.actor])
    node[LOW], node[HIGH] = low, high
    node[MINE] = team_of(rules, public.actor) == team


@kernel
def learn(node, value):
    """Narrow a node's bounds by the value of one of its cards."""
    if node[MINE]:
        node[LOW] = max(node[LOW], value)
    else:
        node[HIGH] = min(node[HIGH], value)


@kernel(inline=False, allocates=True)
def search(rules, stack, memory, nodes, team, goal_is_game):
    """The exact value of ``stack[0]`` by alpha-beta; ``memory`` is the stack as bytes.

    With a stack of its own, for Numba cannot load functions that call themselves from its cache.
    """
    depth = 0
    enter(rules, stack[0], nodes[0], team, -10 * WIN, 10 * WIN)
    while True:
        node, child = nodes[depth], stack[depth + 1]
        if node[TODO] and node[LOW] < node[HIGH]:
            memory[depth + 1, :] = memory[depth, :]
            engine.apply(rules, child, lowest(node[TODO]))
            node[TODO] &= node[TODO] - 1
            if child.public.phase == Phase.OVER:
                learn(node, outcome(rules, child.public, team, goal_is_game))
            else:
                depth += 1
                enter(rules, child, nodes[depth], team, node[LOW], node[HIGH])
        else:
            value = node[LOW] if node[MINE] else node[HIGH]
            if depth == 0:
                return value
            depth -= 1
            learn(nodes[depth], value)


@kernel(inline=False)
def value_after(rules, stack, memory, nodes, action, goal_is_game):
    """The value of an action of the actor of ``stack[0]`` to his team."""
    team = team_of(rules[0], stack[0].public.actor)
    engine.apply(rules[0], stack[0], action)
    if stack[0].public.phase == Phase.OVER:
        return outcome(rules[0], stack[0].public, team, goal_is_game)
    return search(rules[0], stack, memory, nodes, team, goal_is_game)


def values_in_each_deal(puzzle: Puzzle, deals: int, seed: int = 0) -> tuple[np.ndarray, list[int]]:
    """The exact value of each legal action in sampled deals with open hands: int64 [deals, actions], and the ids."""
    actions = puzzle.game.legal_ids()
    batch = sampled(puzzle, deals, seed)
    stack = records(DEPTH, STATE)
    memory = stack.view(np.uint8).reshape(DEPTH, STATE.itemsize)
    nodes = np.zeros((DEPTH, 4), np.int64)
    out = np.zeros((deals, len(actions)), np.int64)
    for i, j in np.ndindex(out.shape):
        stack[0] = batch.states[i]
        out[i, j] = value_after(pack(puzzle.rules), stack, memory, nodes, actions[j], puzzle.goal == "game")
    return out, actions


# On average: the expert in all seats.


def values_on_average(puzzle: Puzzle, deals: int, seed: int = 0) -> tuple[np.ndarray, list[int]]:
    """What each legal action brings in sampled deals when the expert plays on: float [deals, actions], and the ids."""
    actions = puzzle.game.legal_ids()
    out = np.zeros((deals, len(actions)))
    for j, action in enumerate(actions):
        out[:, j] = _play_out(puzzle, sampled(puzzle, deals, seed), action)
    return out, actions


def _play_out(puzzle: Puzzle, batch: VectorGame, action: int) -> np.ndarray:
    expert, rng = load("expert"), np.random.default_rng(0)
    seat = puzzle.game.actor
    values, playing = np.zeros(len(batch)), np.ones(len(batch), bool)
    actions = np.full(len(batch), action)
    for _ in range(2000):
        batch.step(actions)
        over = playing & (batch.done if puzzle.goal == "game" else batch.ended)
        for row in np.flatnonzero(over):
            values[row] = _worth(puzzle, batch.last[row], seat)
        playing &= ~over
        if not playing.any():
            return values
        actions = expert.act(batch.observation, batch.mask, rng)
    raise RuntimeError(f"{puzzle.name}: a game does not end")


def _worth(puzzle: Puzzle, last: np.ndarray, seat: int) -> float:
    rules = puzzle.rules
    if puzzle.goal == "game":
        return float(last["winner"] == rules.team_of(seat))
    change = np.array([last["change"][rules.team_of(other)] for other in range(rules.players)], float)
    if puzzle.goal == "money":
        moon = bool(last["made"]) if last["bid"] == MOON_CALL else None
        return float(settle(rules, change.astype(int).tolist(), int(last["pitcher"]), moon)[seat])
    return float(relative(change, rules)[seat])


# The judgement.


def complaint(
    puzzle: Puzzle, deals: int, seed: int = 0, errors: float = ERRORS, exceptions: float = EXCEPTIONS
) -> str | None:
    """What is wrong with a puzzle, or None where it holds.

    Args:
        puzzle: the puzzle.
        deals: how many are drawn.
        seed: of these.
        errors: by how many standard errors what is right must be better on average.
        exceptions: in ``most deals``, how often it may be worse for each time it is better.
    """
    if puzzle.proof != "average":
        exceptions = 0.0 if puzzle.proof == "every deal" else exceptions
        for words, gain in gains(puzzle, *values_in_each_deal(puzzle, deals, seed)):
            better, worse = (gain > 0).mean(), (gain < 0).mean()
            if not better or worse > exceptions * better:
                return f"{words}: better in {better:.1%} and worse in {worse:.1%} of the deals"
    if puzzle.proof != "every deal":
        for words, gain in gains(puzzle, *values_on_average(puzzle, deals, seed)):
            error = gain.std(ddof=1) / len(gain) ** 0.5
            if gain.mean() <= errors * error:
                return f"{words}: {gain.mean():+.3f} with a standard error of {error:.3f}"
    return None


def gains(puzzle: Puzzle, values: np.ndarray, actions: list[int]) -> Iterator[tuple[str, np.ndarray]]:
    """For each right and each wrong action what the right one brings more in each deal."""
    for right, wrong in itertools.product(puzzle.right, puzzle.wrong):
        words = f"{action_text(right)} against {action_text(wrong)}"
        yield words, (values[:, actions.index(right)] - values[:, actions.index(wrong)]).astype(float)


def describe(puzzle: Puzzle, deals: int) -> Iterator[str]:
    """For each action its mean value, what the first right one brings more, and how often it is better and worse."""
    proof = values_on_average if puzzle.proof == "average" else values_in_each_deal
    values, actions = proof(puzzle, deals, 1)
    first = values[:, actions.index(puzzle.right[0])]
    for j, action in enumerate(actions):
        gain = (first - values[:, j]).astype(float)
        yield (
            f"{'*' if action in puzzle.right else ' '}{action_text(action):8} {values[:, j].mean():+8.2f}  "
            f"{gain.mean():+.2f} ± {gain.std(ddof=1) / deals**0.5:.2f}  "
            f"+{(gain > 0).mean():.1%} -{(gain < 0).mean():.1%}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description="Check what the puzzles say is right.")
    parser.add_argument("names", nargs="*", help="puzzles, by a part of their names; all where none is given")
    parser.add_argument("--deals", type=int, default=2000, help="how many deals are drawn (default: 2000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--puzzles", type=Path, default=PUZZLES)
    parser.add_argument("--values", action="store_true", help="print the values of the actions too")
    options = parser.parse_args()
    failed = 0
    for puzzle in load_puzzles(options.puzzles):
        if options.names and not any(name in puzzle.name for name in options.names):
            continue
        wrong = complaint(puzzle, options.deals, options.seed)
        failed += wrong is not None
        print(f"{'holds' if wrong is None else 'FAILS'}  {puzzle.name} ({puzzle.proof})", wrong or "", flush=True)
        if options.values:
            print(*describe(puzzle, options.deals), sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
