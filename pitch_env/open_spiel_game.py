"""The OpenSpiel game ``pitch``: importing this file registers it.

    import pyspiel
    import pitch_env.open_spiel_game

    game = pyspiel.load_game("pitch(rules=auction,players=2,ranks=TJA,suits=CD,hand_size=2)")

Its parameters are ``rules``, a preset; the fields of ``Rules``, each as the preset has it unless named; and

==============  ====================================================================================================
``chance``      ``explicit``: the dealer and each card are chance nodes of their own, so that exact algorithms work; a
                hand is dealt in ascending order, which makes one path of each hand. ``sampled``: one node a deal.
``deals``       how many deals at most; the game ends before if the target is reached. 1: a deal on its own.
``dealer``      who deals first; -1: drawn.
``utility``     ``relative``: own team's score minus the mean of the others', which is zero-sum. ``score``: own team's.
                ``win``: 1 for the team that won the game, -1 for the others, all 0 where nobody did.
``rng_seed``    of sampled chance; -1: a new one.
==============  ====================================================================================================

In a string of parameters yes and no are 1 and 0, no target is 0, and ranks that are all digits begin with a ``_``, for
OpenSpiel takes them for a number else. ``load`` takes them all as Python has them.

The game is general-sum in ``score``, and in ``win`` with more than two teams. An information state remembers all that
its player has seen and done, in earlier deals too; as a tensor it is provided for single deals only, which is where an
observation holds it all.

OpenSpiel (2.0) itself cannot do two things with a game written in Python: its bots in C++ for MCTS and IS-MCTS crash,
those of ``open_spiel.python.algorithms`` work; and ``pyspiel.serialize_game_and_state``, which pickle uses too, refuses
sampled chance, where ``state.serialize()`` and ``game.deserialize_state()`` work.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyspiel

from pitch_env import observation
from pitch_env.actions import TRUMP, action_text
from pitch_env.cards import card_text, cards_in, mask_of
from pitch_env.game import Game
from pitch_env.open_spiel_deal import Deal, Dealing, chance_actions, deal_of, put_away_order, texts
from pitch_env.open_spiel_observer import PitchObserver
from pitch_env.open_spiel_parameters import DEFAULTS, check, chosen_rules, encode, game_info, game_type, named
from pitch_env.rules import Rules


def load(rules: str | Rules = "auction", **parameters: Any) -> "PitchGame":
    """The game, its parameters as Python has them: ``load("money", players=3, moon=False, target=None)``.

    Raises:
        ValueError: names the parameter, its value and what is allowed.
        pyspiel.SpielError: a parameter that is not there, or of another type.
    """
    if isinstance(rules, Rules):  # all fields are named, so that nothing of this preset counts but how many may play
        parameters, preset = rules.to_dict() | parameters, "money"
    else:
        preset = rules
    return pyspiel.load_game("pitch", {"rules": preset} | {name: encode(name, parameters[name]) for name in parameters})


class PitchGame(pyspiel.Game):
    """The game as OpenSpiel knows it; ``rules`` are its Rules."""

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        given = DEFAULTS | dict(params or {})
        self.rules = chosen_rules(given)
        check(given, self.rules)
        self.explicit = given["chance"] == "explicit"
        self.deals, self.dealer, self.utility = given["deals"], given["dealer"], given["utility"]
        nobody: tuple = ((),) * self.rules.players
        cards = Dealing(self.rules, ()).settle().cards
        self.start = Course(cards, self.dealer, (0,) * self.rules.teams, nobody, ("",) * self.rules.players)
        self.rng = np.random.default_rng(None if given["rng_seed"] < 0 else given["rng_seed"])
        super().__init__(
            game_type(given["chance"], self.utility, self.rules.teams, self.deals),
            game_info(self.rules, given["chance"], self.utility, self.deals),
            named(given),
        )

    def new_initial_state(self, *_: Any) -> "PitchState":
        """Nothing has been dealt."""
        return PitchState(self)

    def max_chance_nodes_in_history(self) -> int:
        if not self.explicit:
            return self.deals
        cards = self.rules.players * self.rules.hand_size
        return 1 + self.deals * (cards + (self.rules.widow_size if self.rules.widow == "exchange" else 0))

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "PitchObserver":
        """What OpenSpiel asks for observations and information states."""
        if params:
            raise ValueError(f"observation parameters {params!r} are not allowed; there are none")
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        return PitchObserver(self.rules, kind, has_tensor=self.deals == 1 or not kind.perfect_recall)


# States.


@dataclass(frozen=True)
class Course:
    """What a state knows besides the deal that is played. Immutable, so that copies share it."""

    cards: tuple[int, ...]  # dealt so far
    dealer: int  # of the present deal; -1: not drawn yet
    scores: tuple[int, ...]  # before the present deal, by team
    put_away: tuple[tuple[int, ...], ...]  # by seat, in the present deal, in order
    past: tuple[str, ...]  # what each seat knows of earlier deals
    deals: tuple[Deal, ...] = ()  # the present one last
    script: tuple[Deal, ...] = ()  # the deals that sampled chance shall give
    over: bool = False

    def __deepcopy__(self, memo: dict) -> "Course":
        return self


class PitchState(pyspiel.State):
    """A state: chance deals, then a ``Game`` of one deal knows the rest. OpenSpiel copies and pickles the attributes.

    Attributes:
        game: the deal that is played, as a game of its own; None while it is being dealt.
    """

    def __init__(self, game: PitchGame) -> None:
        super().__init__(game)
        self.game: Game | None = None
        self._course = game.start

    # What OpenSpiel calls.

    def current_player(self) -> int:
        if self._course.over:
            return pyspiel.PlayerId.TERMINAL
        actor = None if self.game is None else self.game.actor
        return pyspiel.PlayerId.CHANCE if actor is None else actor

    def is_terminal(self) -> bool:
        return self._course.over

    def _legal_actions(self, player: int) -> list[int]:
        return [] if self.game is None else self.game.legal_ids()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Each outcome with its probability."""
        game = self.get_game()
        if not game.explicit:
            return [(0, 1.0)]
        if self._course.dealer < 0:
            return [(seat, 1 / game.rules.players) for seat in range(game.rules.players)]
        return Dealing(game.rules, self._course.cards).outcomes()

    def _apply_action(self, action: int) -> None:
        game = self.get_game()
        if self.game is not None:
            self._play(game, self.game, action)
        elif game.explicit:
            self._take_card(game, action)
        else:
            self._begin(game, self._sampled(game))

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return action_text(action)
        if not self.get_game().explicit:
            return "deal"
        return f"dealer {action}" if self._course.dealer < 0 else f"deal {card_text(action)}"

    def returns(self) -> list[float]:
        """By player; all 0 before the end."""
        game, course = self.get_game(), self._course
        rules, scores = game.rules, course.scores
        if not course.over or self.game is None:
            return [0.0] * rules.players
        if game.utility == "win":
            winner = self.game.winner
            by_team = [0.0 if winner is None else 1.0 if team == winner else -1.0 for team in range(rules.teams)]
        elif game.utility == "score":
            by_team = [float(score) for score in scores]
        else:
            by_team = [score - (sum(scores) - score) / (rules.teams - 1) for score in scores]
        return [by_team[rules.team_of(seat)] for seat in range(rules.players)]

    def __str__(self) -> str:
        told = (self.knowledge(seat, public=True, private=True) for seat in range(self.num_players()))
        deals = self._course.deals
        return "\n".join([*told, f"widow={texts(deals[-1].widow) if deals else ''}"])

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> "PitchState":
        """A state with other hidden cards, drawn uniformly from all that fit what a player knows of this deal.

        Its history has the cards and the hidden discards of its own deal; earlier deals are as they were.

        Args:
            player: who knows.
            sampler: draws a number from 0 to 1, the chance that is used.

        Raises:
            ValueError: the cards are still being dealt.
        """
        if self.game is None:
            raise ValueError("there is nothing to draw anew: the cards are still being dealt")
        rng = np.random.default_rng(int(sampler() * 2**53))
        drawn = self.game.determinize(player, rng)
        hidden = [[] if seat == player else put_away_order(drawn, seat, rng) for seat in range(self.num_players())]
        game, here = self.get_game(), len(self._course.deals)
        deals = (*self._course.deals[:-1], deal_of(drawn))
        state = game.new_initial_state()
        state._course = replace(state._course, script=deals)
        for item in self.full_history():
            if item.player == pyspiel.PlayerId.CHANCE:
                continue
            state._deal_on(game, deals)
            action = item.action
            if len(state._course.deals) == here and state._hides(action) and hidden[item.player]:
                action = hidden[item.player].pop(0)
            state.apply_action(action)
        state._deal_on(game, deals)
        state._course = replace(state._course, script=())
        return state

    # Moving on.

    def _take_card(self, game: PitchGame, action: int) -> None:
        """Explicit chance: the dealer, or the next card."""
        course = self._course
        if course.dealer < 0:
            course = replace(course, dealer=action)
        else:
            course = replace(course, cards=Dealing(game.rules, course.cards).add(action).settle().cards)
        self._course = course
        dealing = Dealing(game.rules, course.cards)
        if not dealing.outcomes():
            self._begin(game, dealing.deal(course.dealer))

    def _sampled(self, game: PitchGame) -> Deal:
        """A deal drawn at random."""
        course = self._course
        if len(course.deals) < len(course.script):
            return course.script[len(course.deals)]
        drawn = deal_of(Game(game.rules, int(game.rng.integers(2**64, dtype=np.uint64)), deals=1))
        return drawn if course.dealer < 0 else drawn._replace(dealer=course.dealer)

    def _deal_on(self, game: PitchGame, deals: tuple[Deal, ...]) -> None:
        """Give chance the actions that lead to the next one of some deals, if it is chance's turn."""
        if self.game is not None or len(self._course.deals) == len(deals):
            return
        deal = deals[len(self._course.deals)]
        if not game.explicit:
            self.apply_action(0)
            return
        if self._course.dealer < 0:
            self.apply_action(deal.dealer)
        for action in chance_actions(game.rules, deal):
            self.apply_action(action)

    def _begin(self, game: PitchGame, deal: Deal) -> None:
        """All cards lie: the play of a deal begins."""
        self._course = replace(self._course, dealer=deal.dealer, deals=(*self._course.deals, deal))
        self.game = Game.from_deal(
            game.rules,
            [[card_text(card) for card in cards_in(hand)] for hand in deal.hands],
            [card_text(card) for card in deal.widow],
            deal.dealer,
            self._course.scores,
            deals=game.deals - len(self._course.deals) + 1,
        )

    def _hides(self, action: int) -> bool:
        """Whether an action puts away a card that the others do not see."""
        return self.game is not None and action < TRUMP and self.game.phase in ("exchange", "discard")

    def _play(self, game: PitchGame, table: Game, action: int) -> None:
        actor, hides = table.actor, self._hides(action)
        table.apply(action)
        if hides:
            own = [(*cards, action) if seat == actor else cards for seat, cards in enumerate(self._course.put_away)]
            self._course = replace(self._course, put_away=tuple(own))
        if table.deals_played:
            self._course = replace(self._course, scores=tuple(table.scores), over=table.actor is None)
            if not self._course.over:
                self._end_deal(game, table)

    def _end_deal(self, game: PitchGame, table: Game) -> None:
        """A deal is over and another one follows."""
        self._course = replace(
            game.start,
            dealer=table.dealer,  # the game has passed it on
            scores=self._course.scores,
            past=tuple(f"{past}{self._of_last_deal(seat)}\n" for seat, past in enumerate(self._course.past)),
            deals=self._course.deals,
            script=self._course.script,
        )
        self.game = None

    # Knowing.

    def _of_last_deal(self, seat: int) -> str:
        """What a seat knows of the deal that has just ended."""
        table, put_away = self.game, self._course.put_away[seat]
        assert table is not None
        assert table._last is not None
        dealt = self._course.deals[-1].hands[seat]
        text = observation.infoset(table.rules, table._last[0], seat, 0, dealt, mask_of(put_away))
        return f"{text} order={texts(put_away)}"

    def knowledge(self, seat: int, public: bool, private: bool, recall: bool = False) -> str:
        """What a seat knows, as text: what all know, what it alone knows, and what it must recall of itself.

        The last is earlier deals, and the order in which it put cards away.
        """
        course = self._course
        if self.game is None:
            told = f"seat={seat} dealing dealer={course.dealer} scores={','.join(map(str, course.scores))}"
            own = texts(self.dealt(seat))
        else:
            told, _, own = self.game.infoset(seat).partition(" hand=")
        words = [told] if public else []
        words += [f"hand={own}"] if private else []
        words += [f"order={texts(course.put_away[seat])}"] if recall and course.put_away[seat] else []
        return (course.past[seat] if recall else "") + " ".join(words)

    def dealt(self, seat: int) -> tuple[int, ...]:
        """The cards that a seat has been dealt so far, while the cards are being dealt."""
        return Dealing(self.get_game().rules, self._course.cards).hand(seat)

    def put_away(self, seat: int) -> tuple[int, ...]:
        """The cards that a seat has put away in this deal, in order."""
        return self._course.put_away[seat]


if "pitch" not in pyspiel.registered_names():
    pyspiel.register_game(game_type(), PitchGame)
