"""A double-dummy solver: what a position of the play is worth when every hand is open, exactly.

**The value.** For a team t it is V = (teams - 1) * change[t] - (the sum of ``change`` of all other teams), an integer,
where ``change`` is what ``scoring.score_deal`` writes, a set pitcher's minus included: (teams - 1) times the score
change relative to the others (``agents.returns.relative``). Team t maximises V and all other players minimise it
together. With two teams this is the zero-sum game between them. With more it is the pessimist's bound: what t gets even
if all others play against it, who by the way would rather win points themselves than see another opponent win them.

**The search.** Null windows (Plaat et al., 1996, MTD(f)) over alpha-beta with a transposition table between tricks, the
likely card first, of cards that are equivalent one only, and positions left as soon as the points still to be won
cannot bring the value across the window (solver_points.py). Cards are equivalent if they lie in one hand, are worth
the same, and no card of another player lies between them in their suit, so that they win against the same cards.

Every rule is asked of the engine: what is legal, what a play does, which card beats which, what a deal scores.
"""

import numpy as np

from agents.solver_moves import best_on_table, cards_between, equivalent, take_best, write_moves
from agents.solver_points import (
    STATE_WORDS,
    bounds,
    can_make,
    count_trick,
    final_value,
    find_sure_points,
    judge_game,
    offset,
    prepare,
)
from agents.solver_table import hash_deal, new_table, stir
from pitch_env import Game, Rules, engine
from pitch_env.cards import NUM_CARDS, SUIT_MASKS, card_text, lowest, suit_of
from pitch_env.game import checked_rules
from pitch_env.kernel import kernel
from pitch_env.rules import pack
from pitch_env.scoring import team_of
from pitch_env.state import NOBODY, Phase, copy_entries, copy_public

NO_VALUE = -1_000_000  # of a card that is not legal
INFINITE = np.int64(100_000)  # beyond any value

# The search. It keeps its own stack, because Numba cannot load recursive functions from its cache.


@kernel
def play(rules, work, depth, card):
    """The position after a card, one deeper in the stack; cards without a choice follow, up to the end of the trick."""
    for i in range(STATE_WORDS):
        work.words[depth + 1, i] = work.words[depth, i]
    child = work.stack[depth + 1]
    public = child.public
    engine.apply(rules, child, card)
    legal = np.int64(0)
    while public.phase == Phase.PLAY:
        legal, _ = engine.legal(rules, public, child.hands[public.actor])
        if legal & (legal - 1) or public.num_played == public.trick * rules.players:
            break
        engine.apply(rules, child, lowest(legal))
    work.frames[depth + 1].legal = legal


@kernel
def play_last_trick(rules, work, depth):
    state = work.stack[depth]
    while state.public.phase == Phase.PLAY:
        engine.apply(rules, state, lowest(state.hands[state.public.actor]))
    return final_value(rules, work, state.public)


@kernel
def look(rules, work, entries, depth, goal):
    """Begin with a position: whether a bound on the right side of the goal is known at once, and that bound.

    If not, the frame is ready for its first card.
    """
    state, frame = work.stack[depth], work.frames[depth]
    public = state.public
    work.nodes += 1
    if public.phase != Phase.PLAY:
        return True, final_value(rules, work, public)
    first = np.int64(NOBODY)
    frame.between_tricks = public.num_played == public.trick * rules.players
    if frame.between_tricks:
        settled, bound, first = look_between_tricks(rules, work, entries, depth, goal)
        if settled:
            return True, bound
    frame.maximises = team_of(rules, public.actor) == work.team
    frame.value = -INFINITE if frame.maximises else INFINITE
    frame.tried, frame.number = 0, write_moves(rules, work, depth, frame.legal, first)
    return False, frame.value


@kernel
def look_between_tricks(rules, work, entries, depth, goal):
    """What the points still to be won and the table say: whether a bound settles it, the bound, and the best card."""
    state, frame = work.stack[depth], work.frames[depth]
    public = state.public
    nobody = np.int64(NOBODY)
    if public.trick > 0:
        count_trick(rules, work, public, np.int64(public.trick))
    find_sure_points(rules, work, state)
    gaps = judge_game(rules, work, public)
    makes = can_make(rules, work, public)
    low, high = bounds(rules, work, public, makes)
    if low >= goal or low == high:
        return True, low, nobody
    if high < goal:
        return True, high, nobody
    if public.trick == rules.keep - 1:
        return True, play_last_trick(rules, work, depth), nobody
    frame.stands, matters = offset(rules, work, public, makes)
    cards = np.int64(0)
    for seat in range(rules.players):
        cards |= state.hands[seat]
    frame.key = stir(stir(work.deal ^ gaps, cards), (matters * 4 + makes) * 8 + public.actor)
    first = nobody
    entry = entries[frame.key & np.uint64(len(entries) - 1)]
    if entry.key == frame.key:
        low, high, first = (
            max(low, entry.low + frame.stands),
            min(high, entry.high + frame.stands),
            np.int64(entry.best),
        )
    frame.low, frame.high = low, high
    return low >= goal or high < goal, low if low >= goal else high, first


@kernel
def take_back(work, entries, depth, value, goal):
    """Enter what the card just tried is worth, a bound; returns whether the position is settled."""
    frame = work.frames[depth]
    if value > frame.value if frame.maximises else value < frame.value:
        frame.value, frame.best = value, frame.card
    if (frame.value >= goal) != frame.maximises and frame.tried < frame.number:
        return False
    if frame.between_tricks:
        if frame.value >= goal:
            frame.low = max(frame.low, frame.value)
        else:
            frame.high = min(frame.high, frame.value)
        entry = entries[frame.key & np.uint64(len(entries) - 1)]
        entry.key, entry.best = frame.key, frame.best
        entry.low, entry.high = frame.low - frame.stands, frame.high - frame.stands
    return True


@kernel
def test(rules, work, entries, goal):
    """A bound of the value of ``stack[1]``: a lower one that is at least ``goal``, or an upper one below it."""
    depth = np.int64(1)
    while True:
        settled, value = look(rules, work, entries, depth, goal)
        while settled:
            if depth == 1:
                return value
            depth -= 1
            settled = take_back(work, entries, depth, value, goal)
            value = work.frames[depth].value
        frame = work.frames[depth]
        frame.card = take_best(work.moves[depth], frame.tried, frame.number)
        frame.tried += 1
        play(rules, work, depth, frame.card)
        depth += 1


@kernel(inline=False)
def search(rules, work, entries, low, high, guess):
    """The value of ``stack[1]`` if it lies between ``low`` and ``high``, else a bound beyond them or equal to one.

    Tests at the last bound found close in on it (MTD(f)), soonest where ``guess`` is near.
    """
    value = np.int64(guess)
    while low < high:
        goal = min(max(value, low + 1), high)
        value = test(rules, work, entries, goal)
        if value >= goal:
            low = value
        else:
            high = value
    return value


@kernel(inline=False)
def solve(rules, states, team, table, values, every_card):
    """The value of a position; or where ``every_card``, all that ``solve_plays`` writes, and nothing is returned."""
    entries, work = table.entries, table.work[0]
    root = work.stack[0]
    public = root.public
    copy_public(states[0].public, public)
    copy_entries(states[0].hands, root.hands)
    values[:] = NO_VALUE
    seat, pitch = np.int64(public.actor), public.trump == NOBODY
    maximises = team_of(rules, seat) == team
    legal, _ = engine.legal(rules, public, root.hands[seat])
    low, high, guess = -INFINITE, INFINITE, np.int64(0)
    while legal:
        card = lowest(legal)
        group = legal & SUIT_MASKS[suit_of(card)] if pitch else legal  # cards after which trump is the same
        legal &= ~group
        prepare(rules, work, root, suit_of(card) if pitch else np.int64(public.trump), team)
        work.deal = hash_deal(rules, work, public)
        number = write_moves(rules, work, np.int64(0), group, np.int64(NOBODY))
        for i in range(number):
            card = take_best(work.moves[0], i, number)
            play(rules, work, np.int64(0), card)
            guess = search(rules, work, entries, low, high, guess)
            values[card] = guess
            if not every_card and maximises:
                low = max(low, guess)
            elif not every_card:
                high = min(high, guess)
        if every_card:
            share_values(rules, work, group, values)
    return low if maximises else high  # bounds that met the value, where not every card was asked for


@kernel
def share_values(rules, work, group, values):
    """Cards that were left out because another is equivalent have its value."""
    root = work.stack[0]
    between = cards_between(rules, work, root, best_on_table(rules, root.public))
    solved = group
    while solved:
        card = lowest(solved)
        solved &= solved - 1
        rest = group
        while values[card] == NO_VALUE:
            other = lowest(rest)
            rest &= rest - 1
            if values[other] != NO_VALUE and equivalent(work, card, other, between):
                values[card] = values[other]


@kernel(inline=False)
def solve_plays(rules, states, team, table, values):
    """Write the exact value of each legal card of the actor.

    Args:
        rules: the packed rules.
        states: STATE records; the first is the position, in the phase PLAY with all hands known. It is only read.
        team: the team that maximises.
        table: what ``new_table`` gave; no other thread may use it meanwhile.
        values: int64 [54], written: the value after each card, ``NO_VALUE`` for cards that are not legal.
    """
    solve(rules, states, team, table, values, True)


@kernel(inline=False)
def solve_value(rules, states, team, table):
    """The exact value of a position, sooner found than those of all cards; the arguments are as above."""
    return solve(rules, states, team, table, table.work[0].values, False)


class Solver:
    """Solves positions of games of one kind of rules.

    Args:
        rules: what is played.
        table_bits: the transposition table has 2**table_bits entries of 16 bytes.

    Raises:
        ValueError: no rules, or not a number of bits from 0 to 28.
    """

    def __init__(self, rules: Rules, table_bits: int = 16) -> None:
        self.rules = checked_rules(rules)
        self._record = pack(rules)[0]
        self._table = new_table(table_bits)
        self._values = np.empty(NUM_CARDS, np.int64)

    def values(self, game: Game, team: int | None = None) -> dict[str, float]:
        """What each legal card of the actor brings with best play of all: points of a team relative to the others.

        Args:
            game: it is in the phase 'play'; all its hands are looked at.
            team: whose points; the actor's team if None.

        Raises:
            ValueError: the game is not in the phase 'play', or of other rules, or there is no such team.
        """
        self._solve(game, team, every_card=True)
        cards = np.flatnonzero(self._values != NO_VALUE)
        return {card_text(card): int(self._values[card]) / (self.rules.teams - 1) for card in cards.tolist()}

    def value(self, game: Game, team: int | None = None) -> float:
        """The best of ``values`` for the actor, sooner found; the arguments and errors are the same."""
        return self._solve(game, team, every_card=False) / (self.rules.teams - 1)

    @property
    def positions(self) -> int:
        """How many positions have been searched so far."""
        return int(self._table.work[0]["nodes"])

    def _solve(self, game: Game, team: int | None, every_card: bool) -> int:
        if not isinstance(game, Game):
            raise ValueError(f"game={game!r} is not allowed; it is a Game")
        if game.rules != self.rules:
            raise ValueError(f"this game has other rules than the solver: {_differences(game.rules, self.rules)}")
        if game.actor is None or game.phase != "play":
            raise ValueError(f"phase {game.phase!r} cannot be solved; the solver looks at the phase 'play' only")
        number = self.rules.team_of(game.actor) if team is None else team
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < self.rules.teams:
            raise ValueError(f"team={team!r} is not allowed; teams are 0 to {self.rules.teams - 1}")
        return int(solve(self._record, game._states, int(number), self._table, self._values, every_card))


def _differences(one: Rules, other: Rules) -> str:
    mine, theirs = one.to_dict(), other.to_dict()
    return ", ".join(f"{name}={mine[name]!r}, not {theirs[name]!r}" for name in mine if mine[name] != theirs[name])
