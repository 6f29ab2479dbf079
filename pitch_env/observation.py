"""What a player sees: one flat array of bytes made of named parts, its inverse, and the same knowledge as text.

Everything here works on a *view*, which is all that a player may know (rules.md, 11): the public record, his seat, and
three masks of his own: the hand, the hand as dealt, and what he put away. The table of parts below is the layout; each
part is described where it is declared. Seats and teams are counted from the viewer, who is 0.
"""

import functools
import hashlib
import json
from enum import IntEnum
from typing import Any

import numpy as np

from pitch_env.actions import MOON_CALL, PASS, action_text
from pitch_env.cards import NUM_CARDS, RANKS, SUITS, bit, card_text, cards_in, lowest
from pitch_env.kernel import entry, kernel, records
from pitch_env.rules import MAX_PLAYERS, PACKED_FIELDS, Rules, Widow, decode_field, encode_field, pack
from pitch_env.scoring import next_seat, team_of, trick_winner, wrap
from pitch_env.state import NOBODY, Phase


class Part(IntEnum):
    """The parts of an observation in their order; ``parts`` gives their sizes."""

    RULES, PHASE, ACTOR, DEALER, BIDS, PASSED, BID, PITCHER, TRUMP = range(9)
    HAND, DRAWN, DISCARDS, EXCHANGED, CARDS = range(9, 14)
    PLAYED_BY, TRICK_OF, TABLE, LEADERS, WINNING, VOIDS = range(14, 20)
    TRICKS_WON, CARD_POINTS, SCORE_ABOVE, SCORE_BELOW, TO_GO, DEALS_LEFT = range(20, 26)


RULES_BYTES = len(PACKED_FIELDS) + 3  # the fields, the set of ranks in two bytes, the set of suits

LAYOUT = np.dtype(
    [
        ("at", "<i8", (len(Part) + 1,)),  # where each part begins, and at last the width
        ("rules", "u1", (RULES_BYTES,)),  # the bytes of the part RULES
    ],
    align=True,
)


def num_levels(rules: Rules) -> int:
    """How many different bids there are."""
    return rules.max_bid - rules.min_bid + 1 + rules.moon


def parts(rules: Rules) -> dict[str, tuple[int, int, str]]:
    """The parts of an observation in order: name -> (size in bytes, highest value, meaning)."""
    players, teams, levels = rules.players, rules.teams, num_levels(rules)
    widow, exchange = rules.widow != "none", rules.widow == "exchange"
    deck = len(rules.deck)
    table = {
        Part.RULES: (RULES_BYTES, 255, "the rules, a byte a field; see rules_of"),
        Part.PHASE: (5, 1, "one-hot: bid, trump, exchange, discard, play; zero when the deal is over"),
        Part.ACTOR: (players, 1, "one-hot by seat: who is to act"),
        Part.DEALER: (players, 1, "one-hot by seat"),
        Part.BIDS: (players * levels, 1, "[seat, bid] 1 if that seat made that bid, low to high, the moon last"),
        Part.PASSED: (players, 1, "by seat: has passed"),
        Part.BID: (levels, 1, "one-hot: the highest bid so far"),
        Part.PITCHER: (players, 1, "one-hot by seat: who made it"),
        Part.TRUMP: (4, 1, "one-hot: C D H S"),
        Part.HAND: (NUM_CARDS, 1, "by card: in the viewer's hand"),
        Part.DRAWN: (NUM_CARDS * widow, 1, "by card: the viewer had it from the widow"),
        Part.DISCARDS: (NUM_CARDS * widow, 1, "by card: the viewer put it away"),
        Part.EXCHANGED: (players * exchange, rules.exchange, "by seat: how many cards it exchanged"),
        Part.CARDS: (players, deck, "by seat: how many cards it holds"),
        Part.PLAYED_BY: (players * NUM_CARDS, 1, "[seat, card] 1 if that seat played that card"),
        Part.TRICK_OF: (NUM_CARDS, rules.keep, "by card: the trick it was played in, from 1; 0: not played"),
        Part.TABLE: (NUM_CARDS, 1, "by card: lies in the trick on the table"),
        Part.LEADERS: (rules.keep * players, 1, "[trick, seat] one-hot: who led it"),
        Part.WINNING: (players, 1, "one-hot by seat: whose card is winning the trick on the table"),
        Part.VOIDS: (players * 4, 1, "[seat, suit] 1 if that seat's plays have shown that it holds none"),
        Part.TRICKS_WON: (teams, rules.keep, "by team: tricks won"),
        Part.CARD_POINTS: (teams, 80, "by team: card points in its tricks"),
        Part.SCORE_ABOVE: (teams, 255, "by team: its score where that is above zero"),
        Part.SCORE_BELOW: (teams, 255, "by team: its score below zero, as a positive number"),
        Part.TO_GO: (teams, 255, "by team: points to the target; 0 without one"),
        Part.DEALS_LEFT: (1, 255, "deals until the game ends, this one included; 0: no limit"),
    }
    return {part.name.lower(): table[part] for part in Part}


def part_slices(rules: Rules) -> dict[str, slice]:
    """Where each part lies in an observation."""
    at = layout(rules)["at"][0]
    return {part.name.lower(): slice(int(at[part]), int(at[part + 1])) for part in Part}


def width(rules: Rules) -> int:
    """How many values an observation has."""
    return int(layout(rules)["at"][0][len(Part)])


def highs(rules: Rules) -> np.ndarray:
    """The highest value of each entry, uint8 [D]; the lowest is 0. Scores beyond 255 are cut off there."""
    return np.concatenate([np.full(size, high, np.uint8) for size, high, _ in parts(rules).values()])


@functools.cache
def layout(rules: Rules) -> np.ndarray:
    """The layout as one ``LAYOUT`` record (an array of length 1) for kernels, shared and not to be written to."""
    array = records(1, LAYOUT)
    packed = pack(rules)[0]
    array[0]["at"][1:] = np.cumsum([size for size, _, _ in parts(rules).values()])
    ranks = int(packed["rank_set"])
    fields = [encode_field(name, getattr(rules, name)) for name in PACKED_FIELDS]
    array[0]["rules"] = [*fields, ranks & 255, ranks >> 8, packed["suit_set"]]
    array.flags.writeable = False
    return array


def rules_of(observation: np.ndarray) -> Rules:
    """The rules that an observation was made under, all but the cents of the money game. Raises ValueError."""
    head = np.asarray(observation)[:RULES_BYTES]
    if head.shape != (RULES_BYTES,) or not ((head >= 0) & (head <= 255) & (head == np.floor(head))).all():
        raise ValueError(f"this is not an observation: its first {RULES_BYTES} values are no bytes")
    return _rules_of_bytes(head.astype(np.uint8).tobytes())


@functools.cache
def _rules_of_bytes(code: bytes) -> Rules:
    *fields, low, high, suits = code
    try:
        values = {name: decode_field(name, value) for name, value in zip(PACKED_FIELDS, fields, strict=True)}
        values["ranks"] = "".join(rank for i, rank in enumerate(RANKS) if (low | high << 8) >> i & 1)
        values["suits"] = "".join(suit for i, suit in enumerate(SUITS) if suits >> i & 1)
        return Rules(**values)
    except (ValueError, IndexError) as error:
        raise ValueError(f"this is not an observation: its first {RULES_BYTES} values are no rules ({error})") from None


# Writing.


@kernel
def level_of(rules, call):
    """The place of a bid among the bids of these rules."""
    return rules.max_bid - rules.min_bid + 1 if call == MOON_CALL else np.int64(call) - rules.min_bid


@kernel
def relative(rules, seat, viewer):
    """A seat counted from the viewer."""
    return wrap(np.int64(seat) - viewer, rules.players)


@kernel
def put(out, place, value):
    """Write one entry. Places are never negative; an unsigned one spares Numba the check, which took a quarter."""
    out[np.uintp(place)] = value


@kernel
def write_cards(mask, out, at):
    """A 1 for each card of a mask."""
    while mask:
        put(out, at + lowest(mask), 1)
        mask &= mask - 1


@kernel
def cut(value):
    """A number as a byte."""
    return min(max(np.int64(value), 0), 255)


@kernel
def write_observation(rules, layout, public, seat, hand, dealt, discards, out):
    """Write what ``seat`` sees into ``out`` (uint8, at least the layout's width; what is beyond it becomes 0)."""
    out[:] = 0
    at = layout.at
    for i in range(RULES_BYTES):
        put(out, i, layout.rules[i])
    if public.phase != Phase.OVER:
        put(out, at[Part.PHASE] + public.phase, 1)
        put(out, at[Part.ACTOR] + relative(rules, public.actor, seat), 1)
    put(out, at[Part.DEALER] + relative(rules, public.dealer, seat), 1)
    put(out, at[Part.DEALS_LEFT], cut(public.deals_limit - public.deals))
    write_auction(rules, at, public, seat, out)
    write_own_cards(rules, at, public, seat, hand, dealt, discards, out)
    if public.num_played > 0:
        write_plays(rules, at, public, seat, out)
    if public.phase == Phase.PLAY and public.num_played == 0:
        put(out, at[Part.LEADERS] + relative(rules, public.pitcher, seat), 1)
    for other in range(rules.players):
        put(out, at[Part.CARDS] + relative(rules, other, seat), public.cards[other])
    if rules.widow == Widow.EXCHANGE:
        for other in range(rules.players):
            put(out, at[Part.EXCHANGED] + relative(rules, other, seat), public.exchanged[other])
    write_scores(rules, at, public, seat, out)


@kernel
def write_auction(rules, at, public, seat, out):
    levels = at[Part.PITCHER] - at[Part.BID]
    players = rules.players
    who = relative(rules, public.dealer, seat)
    passed = np.int64(0)
    for i in range(public.num_calls):
        who = next_seat(rules, who)
        while (passed >> who) & 1:
            who = next_seat(rules, who)
        # A pass writes nothing anywhere: cheaper than a branch that nobody can predict.
        is_bid = public.calls[i] > 0
        passed |= np.int64(not is_bid) << who
        place = np.uintp(at[Part.BIDS] + who * levels + max(level_of(rules, public.calls[i]), 0))
        out[place] |= is_bid
    for who in range(players):
        put(out, at[Part.PASSED] + who, (passed >> who) & 1)
    if public.bid > 0:
        put(out, at[Part.BID] + level_of(rules, public.bid), 1)
        put(out, at[Part.PITCHER] + relative(rules, public.pitcher, seat), 1)
    if public.trump != NOBODY:
        put(out, at[Part.TRUMP] + public.trump, 1)


@kernel
def write_own_cards(rules, at, public, seat, hand, dealt, discards, out):
    write_cards(hand, out, at[Part.HAND])
    if rules.widow != Widow.NONE:
        write_cards(discards, out, at[Part.DISCARDS])
        write_cards((hand | discards | played_by(rules, public, seat)) & ~dealt, out, at[Part.DRAWN])


@kernel
def played_by(rules, public, seat):
    """The mask of the cards that a seat has played."""
    mask = np.int64(0)
    for trick in range(min(np.int64(public.trick) + 1, rules.keep)):
        i = trick * rules.players + relative(rules, seat, entry(public.leaders, trick))
        if i < public.num_played:
            mask |= bit(entry(public.history, i))
    return mask


@kernel
def write_plays(rules, at, public, seat, out):
    # Read before anything is written, for the compiler must think that a byte that is written could be one of these.
    players, num_played, tricks = rules.players, np.int64(public.num_played), np.int64(public.trick)
    played_by, trick_of, table = at[Part.PLAYED_BY], at[Part.TRICK_OF], at[Part.TABLE]
    leaders = at[Part.LEADERS]
    for trick in range(min(tricks + 1, rules.keep)):
        who = relative(rules, entry(public.leaders, trick), seat)
        put(out, leaders + trick * players + who, 1)
        for i in range(trick * players, min((trick + 1) * players, num_played)):
            card = entry(public.history, i)
            put(out, played_by + who * NUM_CARDS + card, 1)
            put(out, trick_of + card, trick + 1)
            who = wrap(who + 1 - players, players)
    first = tricks * players
    if num_played > first:
        for i in range(first, num_played):
            put(out, table + entry(public.history, i), 1)
        put(out, at[Part.WINNING] + relative(rules, trick_winner(rules, public), seat), 1)
    voids = at[Part.VOIDS]
    for other in range(players):
        who = voids + 4 * relative(rules, other, seat)
        for suit in range(4):
            put(out, who + suit, (public.voids[other] >> suit) & 1)


@kernel
def write_scores(rules, at, public, seat, out):
    teams = rules.teams
    mine = team_of(rules, seat)
    for team in range(teams):
        i = wrap(team - mine, teams)
        score = np.int64(public.scores[team])
        put(out, at[Part.TRICKS_WON] + i, public.tricks_won[team])
        put(out, at[Part.CARD_POINTS] + i, public.card_points[team])
        put(out, at[Part.SCORE_ABOVE] + i, cut(score))
        put(out, at[Part.SCORE_BELOW] + i, cut(-score))
        put(out, at[Part.TO_GO] + i, cut(rules.target - score) if rules.target else 0)


# Reading: the inverse, for players that think in rules and not in numbers. The viewer becomes seat 0.


@kernel
def read_cards(observation, at):
    mask = np.int64(0)
    for card in range(NUM_CARDS):
        if observation[at + card]:
            mask |= bit(card)
    return mask


@kernel
def read_seat(rules, observation, at):
    """The seat that a one-hot part names, or NOBODY."""
    for seat in range(rules.players):
        if observation[at + seat]:
            return np.int64(seat)
    return np.int64(NOBODY)


@kernel
def read_observation(rules, layout, observation, public):
    """Fill the ``PUBLIC`` record as the viewer at seat 0 knows it; returns his masks (hand, dealt, discards).

    For observations of a deal that goes on. Of the record, only the count of finished deals is not restored, and scores
    beyond 255 are cut off.
    """
    at = layout.at
    public.phase = Phase.OVER
    for phase in range(5):
        if observation[at[Part.PHASE] + phase]:
            public.phase = phase
    public.game_over, public.winner, public.made = 0, NOBODY, NOBODY
    public.items[:] = NOBODY
    public.points[:] = 0
    public.change[:] = 0
    public.deals, public.deals_limit = 0, observation[at[Part.DEALS_LEFT]]
    public.actor = read_seat(rules, observation, at[Part.ACTOR])
    public.dealer = read_seat(rules, observation, at[Part.DEALER])
    public.pitcher = read_seat(rules, observation, at[Part.PITCHER])
    public.trump = NOBODY
    for suit in range(4):
        if observation[at[Part.TRUMP] + suit]:
            public.trump = suit
    read_auction(rules, at, observation, public)
    read_plays(rules, at, observation, public)
    read_scores(rules, at, observation, public)
    hand, drawn, discards = read_cards(observation, at[Part.HAND]), np.int64(0), np.int64(0)
    if rules.widow != Widow.NONE:
        drawn = read_cards(observation, at[Part.DRAWN])
        discards = read_cards(observation, at[Part.DISCARDS])
    read_counts(rules, at, observation, public)
    return hand, (hand | discards | played_by(rules, public, 0)) & ~drawn, discards


@kernel(allocates=True)
def read_auction(rules, at, observation, public):
    """The calls in order: each speaker made the lowest of his bids that is still to come, or if none is, passed."""
    levels = at[Part.PITCHER] - at[Part.BID]
    public.num_calls, public.bid, public.passed = 0, 0, 0
    public.calls[:] = 0
    said = np.zeros(MAX_PLAYERS, np.int64)
    seat = (np.int64(public.dealer) + 1) % rules.players
    while True:
        call = np.int64(NOBODY)
        for level in range(levels - 1, said[seat] - 1, -1):
            if observation[at[Part.BIDS] + seat * levels + level]:
                call = np.int64(level)
        if call != NOBODY:
            said[seat] = call + 1
            is_moon = rules.moon and call == levels - 1
            public.bid = MOON_CALL if is_moon else rules.min_bid + call
            public.calls[public.num_calls] = public.bid
        elif observation[at[Part.PASSED] + seat] and not (public.passed >> seat) & 1:
            public.passed |= 1 << seat
        else:
            return
        public.num_calls += 1
        seat = (seat + 1) % rules.players
        for _ in range(rules.players):
            if (public.passed >> seat) & 1:
                seat = (seat + 1) % rules.players


@kernel
def read_plays(rules, at, observation, public):
    players = rules.players
    public.num_played, public.trick, public.played = 0, 0, 0
    public.history[:] = NOBODY
    public.leaders[:] = NOBODY
    for trick in range(rules.keep):
        public.leaders[trick] = read_seat(rules, observation, at[Part.LEADERS] + trick * players)
    for seat in range(players):
        public.voids[seat] = 0
        for suit in range(4):
            public.voids[seat] |= observation[at[Part.VOIDS] + 4 * seat + suit] << suit
        for card in range(NUM_CARDS):
            if observation[at[Part.PLAYED_BY] + seat * NUM_CARDS + card]:
                trick = np.int64(observation[at[Part.TRICK_OF] + card]) - 1
                public.history[trick * players + relative(rules, seat, entry(public.leaders, trick))] = card
                public.num_played += 1
                public.played |= bit(card)
    public.trick = public.num_played // players


@kernel
def read_scores(rules, at, observation, public):
    public.tricks_won[:] = 0
    public.card_points[:] = 0
    public.scores[:] = 0
    for team in range(rules.teams):
        public.tricks_won[team] = observation[at[Part.TRICKS_WON] + team]
        public.card_points[team] = observation[at[Part.CARD_POINTS] + team]
        above, below = observation[at[Part.SCORE_ABOVE] + team], observation[at[Part.SCORE_BELOW] + team]
        public.scores[team] = np.int64(above) - np.int64(below)


@kernel
def read_counts(rules, at, observation, public):
    """The numbers of cards in hands, put away and left in the widow follow from each other."""
    public.widow_left = rules.widow_size
    for seat in range(rules.players):
        drawn, exchanged = np.int64(0), np.int64(0)
        if rules.widow == Widow.EXCHANGE:
            exchanged = np.int64(observation[at[Part.EXCHANGED] + seat])
            drawn = np.int64(0) if public.phase == Phase.EXCHANGE and seat == public.actor else exchanged
        elif rules.widow == Widow.PITCHER and public.phase != Phase.BID and seat == public.pitcher:
            drawn = rules.widow_size
        public.exchanged[seat] = exchanged
        public.cards[seat] = observation[at[Part.CARDS] + seat]
        plays = np.int64(0)
        for trick in range(rules.keep):
            i = trick * rules.players + relative(rules, seat, entry(public.leaders, trick))
            plays += public.leaders[trick] != NOBODY and i < public.num_played
        public.discarded[seat] = rules.hand_size + drawn - plays - public.cards[seat]
        public.widow_left -= drawn


# Text.


def infoset(rules: Rules, public: Any, seat: int, hand: int, dealt: int, discards: int) -> str:
    """All that ``seat`` knows (rules.md, 11), as text: equal for two situations exactly when they cannot be told apart.

    Which of the cards that he put away were exchanged and which discarded is not part of it.
    """

    def seats(name: str) -> str:
        return ",".join(str(value) for value in public[name][: rules.players])

    def cards(mask: int) -> str:
        return ",".join(card_text(card) for card in cards_in(mask))

    code = hashlib.sha256(json.dumps(rules.to_dict(), sort_keys=True).encode()).hexdigest()[:12]
    trump = "" if public["trump"] == NOBODY else SUITS[public["trump"]]
    calls = ",".join(action_text(PASS + call) for call in public["calls"][: public["num_calls"]])
    plays = ",".join(card_text(card) for card in public["history"][: public["num_played"]])
    scores = ",".join(str(score) for score in public["scores"][: rules.teams])
    return (
        f"rules={code} seat={seat} deals={public['deals']}/{public['deals_limit']} scores={scores} "
        f"dealer={public['dealer']} phase={Phase(public['phase']).name.lower()} actor={public['actor']} "
        f"calls={calls} trump={trump} exchanged={seats('exchanged')} cards={seats('cards')} "
        f"plays={plays} hand={cards(hand)} dealt={cards(dealt)} discards={cards(discards)}"
    )
