"""``Recorder``: game records of what a batch plays, for arenas and training."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pitch_env.game import Game
from pitch_env.record import Record, Seat, record_of, take
from pitch_env.vector import VectorGame


@dataclass
class _Running:
    """A deal that is being played."""

    begin: Game | None  # before its first action; None where the recorder came too late
    game: int  # how many games were finished in this row before
    chosen: list[int] = field(default_factory=list)  # the actions that were given to ``step``


class Recorder:
    """Steps a batch and makes a record of each deal that ends::

        recorder = Recorder(batch, [Seat("expert"), Seat("greedy"), Seat("greedy"), Seat("greedy")])
        while playing:
            append(path, recorder.step(choose(batch.observation, batch.mask)))

    A deal that had begun before is passed over. Whoever resets the batch or writes to its states makes a new recorder.

    Args:
        batch: what is recorded; from now on it is stepped by ``step`` here.
        seats: who sits where, the same in all games, or what tells it for the index of a game.
        games: the indices of the games that are recorded; all if None.
        name: what the names of the games begin with; game i's n-th one is ``{name}{i}.{n}``.
    """

    def __init__(
        self,
        batch: VectorGame,
        seats: Sequence[Seat] | Callable[[int], Sequence[Seat]],
        games: Iterable[int] | None = None,
        name: str = "",
    ) -> None:
        self.batch, self.name = batch, name
        self._seats = seats
        self._running: dict[int, _Running] = {}
        for index in range(batch.num_games) if games is None else games:
            begin = batch.game(index)
            self._running[int(index)] = _Running(begin if begin.phase == "bid" and not begin.calls else None, 0)

    def step(self, actions: np.ndarray) -> list[Record]:
        """Step the batch; ``reward``, ``done`` and the rest are its attributes.

        Returns:
            The records of the deals that this step ended, in the order of the games.

        Raises:
            IllegalAction, ValueError: as ``VectorGame.step``; nothing is changed.
        """
        self.batch.step(actions)
        chosen, ended = np.asarray(actions).tolist(), self.batch.ended.tolist()
        finished = []
        for index, running in self._running.items():
            running.chosen.append(chosen[index])
            if ended[index]:
                finished.append(index)
        records = [self._record(index) for index in sorted(finished) if self._running[index].begin is not None]
        for index in finished:
            games = self._running[index].game + bool(self.batch.done[index])
            self._running[index] = _Running(self.batch.game(index), games)
        return records

    def stop(self, games: Iterable[int]) -> None:
        """Record these games no longer."""
        for index in games:
            self._running.pop(int(index), None)

    def _record(self, index: int) -> Record:
        running = self._running[index]
        assert running.begin is not None
        actions, end = _all_actions(running.begin, running.chosen, self.batch.skip_forced)
        if end._public.tobytes() != self.batch.last[index].tobytes():
            raise ValueError(f"game {index} was not stepped by this recorder alone; make a new one after other changes")
        seats = self._seats(index) if callable(self._seats) else self._seats[: end.rules.players]
        return record_of(end, actions, seats, f"{self.name}{index}.{running.game}")


def _all_actions(begin: Game, chosen: list[int], skip_forced: bool) -> tuple[list[int], Game]:
    """The actions of a deal, with those between that a batch has played itself, and the table after the last.

    A deal's first decision is never forced, so whatever has one legal action here was not put to ``step``.
    """
    game, actions, rest = begin.clone(), [], iter(chosen)
    while game.actor is not None:
        legal = game.legal_ids()
        action = legal[0] if skip_forced and len(legal) == 1 else next(rest, None)
        if action is None:
            break
        actions.append(action)
        take(game, len(actions), action)
    return actions, game
