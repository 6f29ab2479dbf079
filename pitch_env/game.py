"""``Game``: one game for people, with text, errors, copies and bytes. The rules are the engine's kernels."""

import operator
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pitch_env import engine, observation, sampling, stored
from pitch_env.actions import NUM_ACTIONS, PASS, TRUMP, action_text, parse_action
from pitch_env.cards import SUITS, card_text, cards_in, count, mask_of, parse_card
from pitch_env.chance import stream
from pitch_env.kernel import kernel, records
from pitch_env.result import DealResult, Trick, call_value, deal_result, finished_tricks, or_none, trick_cards
from pitch_env.rules import Rules, pack
from pitch_env.scoring import trick_winner
from pitch_env.state import NOBODY, PUBLIC, STATE, Phase


class IllegalAction(ValueError):
    """An action that is not legal now. The message says why and what is legal; the game is as it was."""


class Game:
    """One game of Pitch.

    Args:
        rules: what is played.
        seed: the same seed gives the same deals on every machine; None takes a new one. An integer below 2**64.
        deals: how many deals at most, 1 for a single one; None plays until the target is reached.

    Raises:
        ValueError: neither a target nor a number of deals, or a bad seed.
    """

    __slots__ = ("_ids", "_last", "_layout", "_public", "_rules_record", "_state", "_states", "_width", "rules")

    def __init__(self, rules: Rules, seed: int | None = None, deals: int | None = None) -> None:
        self._set_up(rules)
        _start(self._rules_record, self._states, checked_seed(seed), checked_deals(rules, deals))

    def _set_up(self, rules: Rules) -> None:
        self.rules = checked_rules(rules)
        self._rules_record = pack(rules)
        self._layout = observation.layout(rules)
        self._width = observation.width(rules)
        self._ids = np.empty(NUM_ACTIONS, np.int64)  # room for legal_ids
        self._states = records(1, STATE)
        self._state = self._states[0]
        self._public = self._state["public"]
        self._last: np.ndarray | None = None  # the PUBLIC record of the deal that ended last

    @classmethod
    def from_deal(
        cls,
        rules: Rules,
        hands: Iterable[Iterable[str]],
        widow: Iterable[str] | None = (),
        dealer: int = 0,
        scores: Sequence[int] | None = None,
        deals: int | None = 1,
        seed: int | None = 0,
    ) -> "Game":
        """A game that begins with given cards.

        Args:
            rules: what is played.
            hands: the cards of each seat, as text.
            widow: the cards of the widow from its top; where nobody can ever see them, they may be left out.
            dealer: the seat that deals.
            scores: one for each team; zeros if None.
            deals: how many deals at most, the given one included.
            seed: of the deals that come after it.

        Raises:
            ValueError: a card that is not in the deck, or there twice, a wrong number of cards, no such seat.
        """
        game = cls(rules, 0 if seed is None else seed, checked_deals(rules, deals) or None)
        if isinstance(dealer, bool) or not isinstance(dealer, int | np.integer) or not 0 <= dealer < rules.players:
            raise ValueError(f"dealer={dealer!r} is not allowed; seats are 0 to {rules.players - 1}")
        piles = [_parse_pile(f"hand of seat {seat}", hand, rules) for seat, hand in enumerate(_listed("hands", hands))]
        if len(piles) != rules.players:
            raise ValueError(f"{len(piles)} hands are not allowed; {rules.players} players need one each")
        for seat, pile in enumerate(piles):
            if len(pile) != rules.hand_size:
                raise ValueError(f"the hand of seat {seat} has {len(pile)} cards; it must have {rules.hand_size}")
        rest = _parse_pile("widow", () if widow is None else widow, rules)
        if rules.widow in ("pitcher", "exchange") and len(rest) != rules.widow_size:
            raise ValueError(f"the widow has {len(rest)} cards; it must have {rules.widow_size}")
        seen: set[int] = set()
        for pile in [*piles, rest]:
            for card in pile:
                if card in seen:
                    raise ValueError(f"the card {card_text(card)} is there twice")
                seen.add(card)
        rest += [card for card in rules.deck if card not in seen]
        state, public = game._state, game._public
        public["dealer"] = dealer
        public["scores"][: rules.teams] = _checked_scores(rules, scores)
        _clear_deal(game._rules_record, game._states)
        state["hands"][: rules.players] = [mask_of(pile) for pile in piles]
        state["dealt"] = state["hands"]
        state["deck"] = NOBODY
        state["deck"][: rules.widow_size] = rest
        return game

    # The table.

    @property
    def phase(self) -> str:
        """'bid', 'trump', 'exchange', 'discard', 'play' or 'over'."""
        return _PHASES[self._public["phase"]]

    @property
    def actor(self) -> int | None:
        """The seat to act, None when the game is over."""
        return or_none(self._public["actor"])

    @property
    def dealer(self) -> int:
        return int(self._public["dealer"])

    @property
    def pitcher(self) -> int | None:
        """Who won the auction, None while it goes on."""
        return None if self._public["phase"] == Phase.BID else or_none(self._public["pitcher"])

    @property
    def bid(self) -> int | str | None:
        """The highest bid so far: a number, 'moon', or None."""
        return call_value(self._public["bid"])

    @property
    def calls(self) -> list[tuple[int, str]]:
        """The auction of this deal so far, as (seat, text)."""
        calls, passed, seat = [], set(), self.dealer
        for call in self._public["calls"][: self._public["num_calls"]]:
            seat = (seat + 1) % self.rules.players
            while seat in passed:
                seat = (seat + 1) % self.rules.players
            calls.append((seat, action_text(PASS + call)))
            if call == 0:
                passed.add(seat)
        return calls

    @property
    def trump(self) -> str | None:
        """'C', 'D', 'H', 'S', or None while it is not known."""
        suit = self._public["trump"]
        return None if suit == NOBODY else SUITS[suit]

    @property
    def scores(self) -> list[int]:
        """By team."""
        return [int(score) for score in self._public["scores"][: self.rules.teams]]

    @property
    def winner(self) -> int | None:
        """The team that won the game, or None. A game of a number of deals without a target goes to the sole leader."""
        if self._public["game_over"] and self.rules.target is None:
            best = max(self.scores)
            return self.scores.index(best) if self.scores.count(best) == 1 else None
        return or_none(self._public["winner"])

    @property
    def deals_played(self) -> int:
        """How many deals are finished."""
        return int(self._public["deals"])

    @property
    def deals_limit(self) -> int | None:
        """After how many deals the game ends at the latest, or None."""
        return int(self._public["deals_limit"]) or None

    @property
    def trick(self) -> list[tuple[int, str]]:
        """The cards on the table, as (seat, card) in the order of play."""
        return trick_cards(self.rules, self._public, int(self._public["trick"]))

    @property
    def tricks(self) -> list[Trick]:
        """The tricks of this deal that are finished."""
        return finished_tricks(self.rules, self._public)

    @property
    def leading(self) -> int | None:
        """The seat whose card is winning the trick on the table, or None."""
        return or_none(_trick_winner(self._rules_record, self._states)) if self.trick else None

    @property
    def exchanged(self) -> list[int]:
        """By seat: how many cards each exchanged."""
        return [int(number) for number in self._public["exchanged"][: self.rules.players]]

    @property
    def last_deal(self) -> DealResult | None:
        """What came of the deal that ended last, or None."""
        if self._last is None:
            return None
        return deal_result(self.rules, self._last[0])

    # Cards that are not open.

    def hand(self, seat: int) -> list[str]:
        """The cards that a seat holds."""
        return self._cards("hands", seat)

    def dealt(self, seat: int) -> list[str]:
        """The cards that a seat was dealt."""
        return self._cards("dealt", seat)

    def discards(self, seat: int) -> list[str]:
        """The cards that a seat put away, exchanged ones included."""
        return self._cards("discards", seat)

    @property
    def widow(self) -> list[str]:
        """The cards that still lie in the widow, from its top; or where there is none, those not dealt."""
        left = int(self._public["widow_left"])
        deck = self._state["deck"][self.rules.widow_size - left : self.rules.widow_size]
        return [card_text(card) for card in deck]

    def _cards(self, field: str, seat: int) -> list[str]:
        return [card_text(card) for card in cards_in(self._state[field][self._checked_seat(seat)])]

    def _checked_seat(self, seat: int) -> int:
        self.rules.team_of(seat)  # refuses what is no seat
        return int(seat)

    # Acting.

    def legal(self) -> list[str]:
        """The actions that the actor may take, as text; none when the game is over."""
        return [action_text(action) for action in self.legal_ids()]

    def legal_ids(self) -> list[int]:
        """The actions that the actor may take, as ids in ascending order."""
        number = _legal_ids(self._rules_record, self._states, self._ids)
        return self._ids[:number].tolist()

    def legal_mask(self) -> np.ndarray:
        """The same as bool [71]."""
        mask = np.zeros(NUM_ACTIONS, bool)
        _look(self._rules_record, self._states, mask)
        return mask

    def apply(self, action: str | int) -> None:
        """Take an action, as text or id, for the seat to act.

        Raises:
            IllegalAction: the action is not legal now, or is none at all; the game is as it was.
        """
        number = action
        if type(number) is not int or not 0 <= number < NUM_ACTIONS:
            try:
                number = parse_action(action)
            except ValueError as error:
                raise IllegalAction(str(error)) from None
        outcome = _apply(self._rules_record, self._states, number)
        if outcome == _DEAL_OVER:
            self._last = records(1, PUBLIC)
            self._last[0] = self._public
            if not self._public["game_over"]:
                _next_deal(self._rules_record, self._states)
        elif outcome == _REFUSED:
            raise IllegalAction(self._why_not(number))

    def _why_not(self, action: int) -> str:
        """Why an action is not legal now. What is legal the engine says; this only finds the words."""
        text = action_text(action)
        if self.actor is None:
            return f"{text!r} is not legal: the game is over"
        seat, phase = self.actor, self.phase
        if action < TRUMP and phase in ("exchange", "discard", "play"):
            if text not in self.hand(seat):
                why = f"seat {seat} does not hold it"
            elif self.trick:
                why = f"seat {seat} must follow the {self.trick[0][1]} that was led, trump is {self.trump}"
            else:
                why = f"seat {seat} may not lead it"
        else:
            why = f"seat {seat} is to {_TO_DO[phase]}"
        return f"{text!r} is not legal: {why}; legal are {', '.join(self.legal())}"

    # What a player knows.

    def _view(self, seat: int) -> tuple[int, int, int, int]:
        state, seat = self._state, self._checked_seat(seat)
        return seat, int(state["hands"][seat]), int(state["dealt"][seat]), int(state["discards"][seat])

    def observation(self, seat: int) -> np.ndarray:
        """What a seat sees, float32 [D]; ``observation_parts`` names its entries. The same whoever is to act."""
        out = np.empty(self._width, np.uint8)
        _observe(self._rules_record, self._layout, self._states, self._checked_seat(seat), out)
        return out.astype(np.float32)

    def observation_parts(self) -> dict[str, slice]:
        """Where each named part of an observation lies."""
        return observation.part_slices(self.rules)

    def infoset(self, seat: int) -> str:
        """All that a seat knows as text: equal exactly when the knowledge is equal."""
        return observation.infoset(self.rules, self._public, *self._view(seat))

    def determinize(self, seat: int, rng: np.random.Generator | int | None = None) -> "Game":
        """A game with a full deal drawn uniformly from all that are consistent with what a seat knows.

        What comes after this deal is drawn anew too.
        """
        game = self.clone()
        seed = np.random.default_rng(rng).integers(2**64, dtype=np.uint64)
        _determinize(self._rules_record, self._states, self._checked_seat(seat), seed, game._states)
        return game

    # Copies.

    def clone(self) -> "Game":
        """A copy that shares nothing with this game and would be dealt the same cards."""
        game = Game.__new__(Game)
        game._set_up(self.rules)
        game._states[:] = self._states
        game._last = None if self._last is None else self._last.copy()
        return game

    def __copy__(self) -> "Game":
        return self.clone()

    def __deepcopy__(self, memo: dict) -> "Game":
        return self.clone()

    def __reduce__(self) -> tuple:
        return Game.from_bytes, (self.to_bytes(),)

    def to_bytes(self) -> bytes:
        """The whole game; ``from_bytes`` gives it back."""
        return stored.to_bytes(self.rules, self._states, self._last)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Game":
        """The game that ``to_bytes`` wrote.

        Raises:
            ValueError: these bytes are no game, of another version, or damaged.
        """
        rules, states, last = stored.from_bytes(data)
        game = cls.__new__(cls)
        game._set_up(rules)
        game._states[:] = states
        game._last = last
        return game

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Game) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        what = f"over, won by {self.winner}"
        if self.actor is not None:
            what = f"deal {self.deals_played + 1}, seat {self.actor} to {_TO_DO[self.phase]}"
        return f"<Game of {self.rules.players} players, {what}, scores {self.scores}>"


_PHASES = tuple(phase.name.lower() for phase in Phase)
_TO_DO = {"bid": "bid", "trump": "name trump", "exchange": "exchange", "discard": "discard", "play": "play", "over": ""}
_REFUSED, _APPLIED, _DEAL_OVER = range(3)


def checked_rules(rules: Rules) -> Rules:
    """Rules, or a ValueError for what is none."""
    if not isinstance(rules, Rules):
        raise ValueError(f"rules={rules!r} is not allowed; it is a Rules object such as Rules.preset('auction')")
    return rules


def checked_seed(seed: int | None) -> np.uint64:
    """A seed as the kernels take it; None takes a new one. Raises ValueError."""
    if seed is None:
        return np.random.default_rng().integers(2**64, dtype=np.uint64)
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if isinstance(seed, bool) or not 0 <= number < 2**64:
        raise ValueError(f"seed={seed!r} is not allowed; it is a whole number from 0 to 2**64 - 1, or None")
    return np.uint64(number)


def checked_deals(rules: Rules, deals: int | None) -> int:
    """A number of deals as the kernels take it, 0 for no limit. Raises ValueError."""
    if deals is None:
        if rules.target is None:
            raise ValueError("deals=None is not allowed; rules without a target need a number of deals")
        return 0
    if isinstance(deals, bool) or not isinstance(deals, int | np.integer) or not 1 <= deals < 2**31:
        raise ValueError(f"deals={deals!r} is not allowed; it is a whole number from 1, or None to play to the target")
    return int(deals)


def _checked_scores(rules: Rules, scores: Sequence[int] | None) -> list[int]:
    if scores is None:
        return [0] * rules.teams
    given = _listed("scores", scores)
    numbers = [score for score in given if isinstance(score, int | np.integer) and -10_000 <= score <= 10_000]
    if len(numbers) != len(given) or len(given) != rules.teams:
        raise ValueError(f"scores={scores!r} is not allowed; it is {rules.teams} whole numbers, one for each team")
    return [int(number) for number in numbers]


def _listed(name: str, values: Iterable) -> list:
    """The values as a list. Raises ValueError for what has none."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ValueError(f"{name}={values!r} is not allowed; it is a list")
    return list(values)


def _parse_pile(name: str, cards: Iterable[str], rules: Rules) -> list[int]:
    pile, deck = [], rules.deck
    for text in _listed(f"the {name}", cards):
        try:
            card = parse_card(text)
        except ValueError as error:
            raise ValueError(f"in the {name}: {error}") from None
        if card not in deck:
            raise ValueError(f"in the {name}: the card {text} is not in the deck of these rules")
        pile.append(card)
    return pile


# The doors to the kernels: arrays of length 1, which Numba takes much faster than records.


@kernel(inline=False)
def _start(rules, states, seed, deals):
    engine.start_game(rules[0], states[0], stream(seed, 0), deals)


@kernel(inline=False)
def _clear_deal(rules, states):
    engine.clear_deal(rules[0], states[0])


@kernel(inline=False)
def _next_deal(rules, states):
    engine.next_deal(rules[0], states[0])


@kernel(inline=False)
def _legal(rules, states):
    state = states[0]
    return engine.legal(rules[0], state.public, state.hands[max(np.int64(state.public.actor), 0)])


@kernel(inline=False)
def _legal_ids(rules, states, out):
    """Write the legal actions, in ascending order; returns how many there are."""
    cards, others = _legal(rules, states)
    number = count(cards) + count(others)
    for i in range(number):
        out[i] = engine.nth_legal(cards, others, i)
    return number


@kernel(inline=False)
def _look(rules, states, mask):
    """Write what the actor may do into ``mask``, zeros [71]; returns his seat, or NOBODY, and the finished deals."""
    cards, others = _legal(rules, states)
    observation.write_cards(cards, mask, 0)
    observation.write_cards(others, mask, TRUMP)
    return states[0].public.actor, states[0].public.deals


@kernel(inline=False)
def _apply(rules, states, action):
    rule, state = rules[0], states[0]
    cards, others = _legal(rules, states)
    if not engine.is_legal(cards, others, action):
        return _REFUSED
    engine.apply(rule, state, action)
    return _DEAL_OVER if state.public.phase == Phase.OVER else _APPLIED


@kernel(inline=False)
def _trick_winner(rules, states):
    return trick_winner(rules[0], states[0].public)


@kernel(inline=False)
def _observe(rules, layout, states, seat, out):
    state = states[0]
    observation.write_observation(
        rules[0], layout[0], state.public, seat, state.hands[seat], state.dealt[seat], state.discards[seat], out
    )


@kernel(inline=False)
def _determinize(rules, states, seat, seed, out):
    state = states[0]
    out[0].rng = seed
    sampling.sample_hidden(
        rules[0], state.public, seat, state.hands[seat], state.dealt[seat], state.discards[seat], out[0]
    )
