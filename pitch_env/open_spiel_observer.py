"""What a player sees in the OpenSpiel game: observations and information states, as tensors and as text."""

from typing import Any

import numpy as np
import pyspiel

from pitch_env import observation
from pitch_env.cards import NUM_CARDS
from pitch_env.rules import Rules

_PRIVATE = ("hand", "drawn", "discards")


class PitchObserver:
    """Observations, ``Game.observation`` by its named parts, and information states.

    ``player`` says who looks; ``put_away``, of information states where there is a widow, is the place of each card in
    the order in which the player put them away, from 1. While cards are being dealt all but ``player`` and the hand so
    far is zero. What all know is told as seat 0 sees it if nothing else is asked for.
    """

    def __init__(self, rules: Rules, kind: Any, has_tensor: bool) -> None:
        if kind.private_info == pyspiel.PrivateInfoType.ALL_PLAYERS:
            raise ValueError("private_info=ALL_PLAYERS is not provided; it is SINGLE_PLAYER or NONE")
        self._private = kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        self._public, self._recall = kind.public_info, kind.perfect_recall
        self.dict: dict[str, np.ndarray] = {}
        self.tensor: np.ndarray | None = None
        if has_tensor:
            self._make_tensor(rules)

    def _make_tensor(self, rules: Rules) -> None:
        sizes = {name: size for name, (size, _, _) in observation.parts(rules).items() if size}
        self._parts = {
            name: part for name, part in observation.part_slices(rules).items()
            if name in sizes and (self._private if name in _PRIVATE else self._public)
        }  # fmt: skip
        sizes = {name: sizes[name] for name in self._parts}
        if self._private:
            sizes = {"player": rules.players} | sizes
            if self._recall and rules.widow != "none":
                sizes["put_away"] = NUM_CARDS
        self.tensor = np.zeros(sum(sizes.values()), np.float32)
        pieces = np.split(self.tensor, np.cumsum(list(sizes.values()))[:-1])
        self.dict = dict(zip(sizes, pieces, strict=True))

    def set_from(self, state: Any, player: int) -> None:
        """Write what a player sees into ``tensor``, of which ``dict`` has the parts."""
        if self.tensor is None:
            raise ValueError("an information state of several deals has no tensor; take the observation, or the string")
        self.tensor.fill(0)
        table, seat = state.game, player if self._private else 0
        if "player" in self.dict:
            self.dict["player"][player] = 1
        if table is None:
            if self._private:
                self.dict["hand"][list(state.dealt(player))] = 1
            return
        seen = table.observation(seat)
        for name, part in self._parts.items():
            self.dict[name][:] = seen[part]
        if "put_away" in self.dict:
            for place, card in enumerate(state.put_away(player)):
                self.dict["put_away"][card] = place + 1

    def string_from(self, state: Any, player: int) -> str:
        """The same as text."""
        seat = player if self._private else 0
        return state.knowledge(seat, self._public, self._private, self._recall)
