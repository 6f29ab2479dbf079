"""What the solver knows about points before the deal is over: where each lies, and what the value can still become.

When all hands are open, who gets high is known as soon as trump is, for the highest trump in play wins its trick; low
is too where its holder has it. Every other point lies on one card and goes to whoever takes it, but for the game point
of the card count; a card that no other team's cards can beat comes home to its own. So each trick leaves a narrower
interval for the value (``bounds``). The intervals only let the search skip positions; the value of a deal that is over
is what ``scoring.score_deal`` wrote.

A role says on which side a team is: the solver's own ``TEAM``, the ``PITCHER`` where that is another team, ``OTHERS``.
"""

import numpy as np

from pitch_env.cards import CARD_POINTS, NUM_CARDS, bit, lowest
from pitch_env.kernel import kernel
from pitch_env.rules import MAX_PLAYERS, MAX_TRICKS, GamePoint, LowTo
from pitch_env.scoring import bid_made, led_suit, next_seat, point_card, power, score_deal, team_of, trump_power
from pitch_env.state import ITEM_WORTH, NOBODY, STATE, Item, copy_entries

TEAM, PITCHER, OTHERS = range(3)
NEVER = 1000  # points that nobody has
_MOST_POINTS = int(ITEM_WORTH.sum())

STACK_DEPTH = NUM_CARDS + 2  # a record before each card, one after the last, and one to try things on
_SCRATCH = STACK_DEPTH - 1
STATE_WORDS = STATE.itemsize // 8
_MAX_HAND = 28

# What the search knows about a position that it is trying cards in.
FRAME = np.dtype(
    [
        ("legal", "<i8"),  # mask of the actor's legal cards
        ("number", "<i8"),  # cards to try, those of ``moves``
        ("tried", "<i8"),  # how many of them have been
        ("card", "<i8"),  # the one that is being tried
        ("best", "<i8"),  # the best so far, worth ...
        ("value", "<i8"),  # ... a bound as ``search`` gives it
        ("maximises", "<i8"),  # 1: the actor is of the team that maximises
        ("between_tricks", "<i8"),  # 1: no card lies on the table, so the following counts
        ("low", "<i8"),  # the value is at least this
        ("high", "<i8"),  # and at most this
        ("stands", "<i8"),  # the part of it that was decided before, see ``offset``
        ("key", "<u8"),  # of the entry in the table
    ],
    align=True,
)

# All that one solver needs besides its table. The records of the stack and ``words`` are the same memory: what copies
# a record copies words, many times faster than its fields.
_FIELDS: list[tuple] = [
    ("stack", STATE, (STACK_DEPTH,)),
    ("moves", "<i8", (STACK_DEPTH, _MAX_HAND)),  # by depth: the cards to try, each with its rank, see solver.py
    ("frames", FRAME, (STACK_DEPTH,)),  # by depth
    ("owned", "<i8", (MAX_PLAYERS,)),  # by seat: mask of what it holds or has played in this deal
    ("above", "<i8", (NUM_CARDS,)),  # by card led or winning: mask of the cards in play that beat it
    ("height", "<i8", (NUM_CARDS,)),  # by card: its rank in its suit, any trump higher than any plain card
    ("kind", "<i8", (NUM_CARDS,)),  # cards of one kind are worth the same to who takes them, and of one suit in play
    ("worth", "<i8", (NUM_CARDS,)),  # points that go to who takes the card
    ("values", "<i8", (NUM_CARDS,)),  # of the cards at the root
    ("role", "<i8", (MAX_PLAYERS,)),  # by team
    ("points", "<i8", (MAX_TRICKS + 1, 3)),  # by finished tricks and role: points that are decided
    ("open", "<i8", (MAX_TRICKS + 1,)),  # by finished tricks: points that lie on cards in hands
    ("open_count", "<i8", (MAX_TRICKS + 1,)),  # the same for card points
    ("can_get_game", "<i8", (3,)),  # by role, at the position that ``bounds`` saw last
    ("has_game", "<i8", (3,)),
    ("sure", "<i8", (3,)),  # by role: the open points that it is sure to get, for nobody can take them
    ("carriers", "<i8"),  # mask of the cards with a worth
    ("team", "<i8"),  # the team that maximises
    ("trump", "<i8"),
    ("pitchers", "<i8"),  # the role of the pitcher's team
    ("bid", "<i8"),  # points that make the bid; NEVER for the moon
    ("setback", "<i8"),  # points that a failed bid costs
    ("deal", "<u8"),  # a hash of all that stays the same in a deal
    ("nodes", "<i8"),  # positions searched since the table was made
]


def _with_words(fields: list[tuple]) -> np.dtype:
    """The fields one after the other, and ``words`` over the first of them."""
    plain = np.dtype(fields, align=True)
    names = [*plain.names, "words"]  # type: ignore[misc]
    formats = [field[1:] if len(field) == 3 else field[1] for field in fields] + [("<i8", (STACK_DEPTH, STATE_WORDS))]
    offsets = [plain.fields[name][1] for name in plain.names] + [0]  # type: ignore[index, union-attr]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": plain.itemsize}, align=True)


WORK = _with_words(_FIELDS)


# Once a deal.


@kernel
def prepare(rules, work, state, trump, team):
    """Set everything in ``work`` that the bounds and the search need, for a position and what is or will be trump."""
    public = state.public
    work.team, work.trump = team, trump
    pitchers = team_of(rules, public.pitcher)
    work.role[:] = OTHERS
    work.role[pitchers] = PITCHER
    work.role[team] = TEAM
    work.pitchers = work.role[pitchers]
    find_owners(rules, work, state)
    in_play = np.int64(0)
    for seat in range(rules.players):
        in_play |= work.owned[seat]
    compare_cards(rules, work, trump, in_play)
    weigh_bid(rules, work, public, pitchers)
    place_points(rules, work, trump, in_play)
    for trick in range(1, public.trick + 1):
        count_trick(rules, work, public, trick)


@kernel
def find_owners(rules, work, state):
    public = state.public
    copy_entries(state.hands, work.owned)
    seat = np.int64(0)
    for i in range(public.num_played):
        seat = np.int64(public.leaders[i // rules.players]) if i % rules.players == 0 else next_seat(rules, seat)
        work.owned[seat] |= bit(public.history[i])


@kernel
def compare_cards(rules, work, trump, in_play):
    """Which card beats which, asked of the engine."""
    rest = in_play
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        led = led_suit(rules, card, trump)
        mine = power(rules, card, trump, led)
        above, others = np.int64(0), in_play
        while others:
            other = lowest(others)
            others &= others - 1
            if power(rules, other, trump, led) > mine:
                above |= bit(other)
        work.above[card], work.height[card] = above, mine


@kernel
def weigh_bid(rules, work, public, pitchers):
    """What the bid takes and what it costs to fail, asked of the scoring on a deal in which nobody won a point."""
    scratch = work.stack[_SCRATCH].public
    scratch.trump, scratch.pitcher, scratch.bid = work.trump, public.pitcher, public.bid
    scratch.history[:] = (work.trump + 1) % 4 * 13  # a card that is no trump
    scratch.leaders[:] = 0
    scratch.card_points[:] = 0
    scratch.tricks_won[:] = 0
    scratch.points[:] = 0
    score_deal(rules, scratch)
    work.setback = -np.int64(scratch.change[pitchers])
    work.bid = NEVER
    for points in range(_MOST_POINTS, -1, -1):
        scratch.points[pitchers] = points
        if bid_made(rules, scratch):
            work.bid = points


@kernel
def place_points(rules, work, trump, in_play):
    """The points that are decided before the first trick, and those that lie on cards."""
    work.worth[:] = 0
    work.points[0, :] = 0
    high, low = np.int64(NOBODY), np.int64(NOBODY)
    rest = in_play & rules.trumps[trump]
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        item = point_card(rules, card, trump)
        if item != NOBODY:
            work.worth[card] = ITEM_WORTH[item]
        if high == NOBODY or trump_power(card, trump) > trump_power(high, trump):
            high = card
        if low == NOBODY or trump_power(card, trump) < trump_power(low, trump):
            low = card
    for seat in range(rules.players):
        role = work.role[team_of(rules, seat)]
        if high != NOBODY and work.owned[seat] & bit(high):
            work.points[0, role] += ITEM_WORTH[Item.HIGH]
        if low != NOBODY and work.owned[seat] & bit(low) and rules.low_to == LowTo.HOLDER:
            work.points[0, role] += ITEM_WORTH[Item.LOW]
    if low != NOBODY and rules.low_to == LowTo.WINNER:
        work.worth[low] += ITEM_WORTH[Item.LOW]
    work.open[0], work.open_count[0], work.carriers = 0, 0, 0
    rest = in_play
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        points = np.int64(CARD_POINTS[card]) if rules.game == GamePoint.COUNT else np.int64(0)
        work.kind[card] = (work.worth[card] * 16 + points) * 8 + led_suit(rules, card, trump)
        work.open[0] += work.worth[card]
        work.carriers |= bit(card) if work.worth[card] else 0
        work.open_count[0] += points


# Once a trick.


@kernel
def count_trick(rules, work, public, trick):
    """The points decided after ``trick`` tricks, from those decided before the last of them."""
    points, count = np.int64(0), np.int64(0)
    for i in range((trick - 1) * rules.players, trick * rules.players):
        card = public.history[i]
        points += work.worth[card]
        count += CARD_POINTS[card]
    for role in range(3):
        work.points[trick, role] = work.points[trick - 1, role]
    work.points[trick, work.role[team_of(rules, public.leaders[trick])]] += points
    work.open[trick] = work.open[trick - 1] - points
    work.open_count[trick] = work.open_count[trick - 1] - count


@kernel
def find_sure_points(rules, work, state):
    """A card that no card of another team beats wins its trick for its own team, whenever it is played."""
    for role in range(3):
        work.sure[role] = 0
    for team in range(rules.teams):
        own, others = np.int64(0), np.int64(0)
        for seat in range(rules.players):
            if team_of(rules, seat) == team:
                own |= state.hands[seat]
            else:
                others |= state.hands[seat]
        rest = own & work.carriers
        while rest:
            card = lowest(rest)
            rest &= rest - 1
            if work.above[card] & others == 0:
                work.sure[work.role[team]] += work.worth[card]


@kernel
def judge_game(rules, work, public):
    """Who can still get the game point of the card count, and who has it for certain. Returns the gaps, packed.

    A gap, 8 bits a team, is how far a team lies behind the highest count; all gaps that can no longer be closed are
    the same. Nothing else of the counts matters to what follows.
    """
    for role in range(3):
        work.can_get_game[role], work.has_game[role] = 0, 0
    gaps = np.uint64(0)
    if rules.game != GamePoint.COUNT:
        return gaps
    first, second = np.int64(-1), np.int64(-1)
    for team in range(rules.teams):
        here = np.int64(public.card_points[team])
        if here > first:
            first, second = here, first
        elif here > second:
            second = here
    rest = work.open_count[public.trick]
    for team in range(rules.teams):
        here = np.int64(public.card_points[team])
        best_other = second if here == first else first
        role = work.role[team]
        if here + rest > best_other:
            work.can_get_game[role] = 1
        if here > best_other + rest:
            work.has_game[role] = 1
        gaps = gaps << np.uint64(8) | np.uint64(min(first - here, rest + 1))
    return gaps


@kernel
def can_make(rules, work, public):
    """Whether the pitcher's bid may still be made: 1 perhaps, 0 no, 2 yes for certain."""
    trick = public.trick
    if work.bid == NEVER:
        return 1 if public.tricks_won[team_of(rules, public.pitcher)] == trick else 0
    points, sure = work.points[trick, work.pitchers], work.sure[work.pitchers]
    if points + sure + work.has_game[work.pitchers] >= work.bid:
        return 2
    lost = work.sure[TEAM] + work.sure[PITCHER] + work.sure[OTHERS] - sure
    return 1 if points + work.open[trick] - lost + work.can_get_game[work.pitchers] >= work.bid else 0


@kernel
def bounds(rules, work, public, makes):
    """The least and the most that the value can be, after some finished tricks and ``judge_game``."""
    trick, others = public.trick, rules.teams - 1
    can, has, sure = work.can_get_game, work.has_game, work.sure
    own = work.points[trick, TEAM] + sure[TEAM]
    pitcher, third = work.points[trick, PITCHER] + sure[PITCHER], work.points[trick, OTHERS] + sure[OTHERS]
    rest = work.open[trick] - sure[TEAM] - sure[PITCHER] - sure[OTHERS]
    least, most = own + has[TEAM], own + rest + can[TEAM]
    if work.pitchers == TEAM:
        low = others * (least if makes == 2 else -work.setback) - (third + rest + can[OTHERS])
        high = others * (most if makes else -work.setback) - (third + has[OTHERS])
        return low, high
    # All that the team does not get goes to the pitcher, who makes his bid with it; or if he cannot, to third teams.
    if makes:
        low = others * least - (pitcher + third + rest + max(can[PITCHER], can[OTHERS]))
    else:
        low = others * least + work.setback - (third + rest + can[OTHERS])
    high = others * most - (third + has[OTHERS]) + (-(pitcher + has[PITCHER]) if makes == 2 else work.setback)
    return low, high


@kernel
def offset(rules, work, public, makes):
    """The part of the value that stands already, as a sum apart from all that follows: equal rests differ by it only.

    Returns it and what else of the points decided matters to what follows.
    """
    own, pitcher = work.points[public.trick, TEAM], work.points[public.trick, PITCHER]
    if work.pitchers == TEAM:
        if makes == 1:
            return np.int64(0), own
        return (rules.teams * own if makes else own), np.int64(0)
    if makes == 1:
        return rules.teams * own, pitcher
    return rules.teams * own + (np.int64(0) if makes else pitcher), np.int64(0)


@kernel
def final_value(rules, work, public):
    """The value of a deal that is over."""
    total = np.int64(0)
    for team in range(rules.teams):
        total += public.change[team]
    return rules.teams * np.int64(public.change[work.team]) - total
