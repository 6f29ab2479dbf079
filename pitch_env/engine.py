"""The rules in motion: deal, legal, apply (rules.md, 2 to 5). One pair ``legal_x`` and ``apply_x`` for each phase.

These kernels trust their input. ``Game.apply`` and ``VectorGame.step`` are the two doors that check it.
"""

import numpy as np

from pitch_env.actions import DONE, MOON_CALL, NUM_ACTIONS, PASS, TRUMP
from pitch_env.cards import ALL_CARDS, CARD_POINTS, JOKERS, SUIT_MASKS, bit, count, nth, suit_of
from pitch_env.chance import next_random
from pitch_env.kernel import entry, kernel
from pitch_env.rules import Auction, FirstLead, Follow, ForcedBid, Trump, Widow
from pitch_env.scoring import game_winner, next_seat, score_deal, team_of, trick_winner
from pitch_env.state import NOBODY, Phase, copy_entries

# Beginning a game and a deal.


@kernel
def start_game(rules, state, generator, deals_limit):
    """A new game: nobody has a score, the first dealer is drawn, the first deal is dealt."""
    public = state.public
    state.rng = generator
    public.deals, public.deals_limit = 0, deals_limit
    public.scores[:] = 0
    public.dealer = next_random(state, rules.players)
    start_deal(rules, state)


@kernel
def next_deal(rules, state):
    """The deal passes to the left."""
    state.public.dealer = next_seat(rules, state.public.dealer)
    start_deal(rules, state)


@kernel
def start_deal(rules, state):
    """Shuffle, deal, and open the auction left of the dealer."""
    clear_deal(rules, state)
    shuffle(rules, state)
    first = next_seat(rules, state.public.dealer)
    position = 0
    for start in range(0, rules.hand_size, rules.packet):
        size = min(rules.packet, rules.hand_size - start)
        for i in range(rules.players):
            seat = (first + i) % rules.players
            for _ in range(size):
                state.hands[seat] |= bit(entry(state.deck, position))
                position += 1
    for i in range(rules.widow_size):
        state.deck[i] = entry(state.deck, position + i)
    copy_entries(state.hands, state.dealt)


@kernel
def clear_deal(rules, state):
    """The table before a deal: no cards in hand, no calls, no tricks."""
    state.hands[:] = 0
    state.discards[:] = 0
    public = state.public
    public.phase, public.game_over, public.winner = Phase.BID, 0, NOBODY
    public.actor = next_seat(rules, public.dealer)
    public.passed, public.num_calls, public.bid, public.pitcher, public.trump = 0, 0, 0, NOBODY, NOBODY
    public.calls[:] = 0
    public.widow_left = rules.widow_size
    public.exchanged[:] = 0
    public.discarded[:] = 0
    public.cards[:] = 0
    public.cards[: rules.players] = rules.hand_size
    public.played, public.num_played, public.trick = 0, 0, 0
    public.history[:] = NOBODY
    public.leaders[:] = NOBODY
    public.voids[:] = 0
    public.tricks_won[:] = 0
    public.card_points[:] = 0
    public.items[:] = NOBODY
    public.points[:] = 0
    public.change[:] = 0
    public.made = NOBODY


@kernel
def shuffle(rules, state):
    """A uniformly random order of the cards that can matter: all of them where the widow does, else those dealt."""
    deck, size = state.deck, rules.deck_size
    copy_entries(rules.deck, deck)
    for i in range(size - 1 if rules.widow != Widow.NONE else rules.players * rules.hand_size):
        other = i + next_random(state, size - i)
        card = entry(deck, i)
        deck[np.uintp(i)] = entry(deck, other)
        deck[np.uintp(other)] = card


# The auction. A call is 0 for a pass, 1..10 for a bid, 11 for the moon; a set of calls has one bit a call.


@kernel
def bids_from(rules, low):
    """The bids from ``low`` up, the moon included where there is one."""
    numbers = bit(rules.max_bid + 1) - bit(low) if low <= rules.max_bid else np.int64(0)
    return numbers | (bit(MOON_CALL) if rules.moon else np.int64(0))


@kernel
def legal_calls(rules, public):
    """The calls that the actor may make."""
    low = max(rules.min_bid, np.int64(public.bid) + 1)
    if public.actor == public.dealer:
        if public.bid == 0:  # all others have passed
            if rules.forced_bid == ForcedBid.EXACT:
                return bit(rules.forced_bid_value)
            if rules.forced_bid == ForcedBid.AT_LEAST:
                return bids_from(rules, rules.forced_bid_value)
        elif rules.steal and public.pitcher != public.dealer:
            low = np.int64(public.bid)
    return bit(0) | bids_from(rules, low)


@kernel
def apply_call(rules, state, call):
    public = state.public
    public.calls[public.num_calls] = call
    public.num_calls += 1
    if call == 0:
        public.passed |= 1 << public.actor
    else:
        public.bid, public.pitcher = call, public.actor
    bidders = rules.players - count(np.int64(public.passed))
    if rules.auction == Auction.ONCE:
        finished = public.actor == public.dealer
    else:
        finished = bidders == 0 or (bidders == 1 and public.bid > 0)
    if public.bid == rules.highest_call or finished:
        end_auction(rules, state)
    else:
        public.actor = next_bidder(rules, public)


@kernel
def next_bidder(rules, public):
    """The next seat, clockwise, that has not passed."""
    seat = next_seat(rules, public.actor)
    while (public.passed >> seat) & 1:
        seat = next_seat(rules, seat)
    return seat


@kernel
def end_auction(rules, state):
    """On to trump, to the discards or to the play; or the deal is thrown in."""
    public = state.public
    public.actor = public.pitcher
    if public.pitcher == NOBODY:
        end_deal(rules, public)
        return
    if rules.widow == Widow.PITCHER:
        draw(state, public.pitcher, rules.widow_size, rules.widow_size)
    if rules.trump == Trump.NAMED:
        public.phase = Phase.TRUMP
    else:
        start_discards(rules, public)


@kernel
def draw(state, seat, number, widow_size):
    """Cards from the top of the widow into a hand."""
    public = state.public
    top = widow_size - public.widow_left
    for i in range(number):
        state.hands[seat] |= bit(entry(state.deck, top + i))
    public.widow_left -= number
    public.cards[seat] += number


# Trump, exchange, discards.


@kernel
def apply_trump(rules, state, suit):
    state.public.trump = suit
    start_discards(rules, state.public)


@kernel
def exchange_limit(rules, public):
    """How many cards the actor may exchange: there must be as many in the widow."""
    return min(rules.exchange, np.int64(public.widow_left)) if rules.widow == Widow.EXCHANGE else np.int64(0)


@kernel
def start_discards(rules, public):
    """The actor's turn to exchange and discard; who has nothing to do is passed over; after the last comes the play."""
    while True:
        if exchange_limit(rules, public) > 0:
            public.phase = Phase.EXCHANGE
            return
        if public.cards[public.actor] > rules.keep:
            public.phase = Phase.DISCARD
            return
        if pass_discards_on(rules, public):
            return


@kernel
def pass_discards_on(rules, public):
    """The next seat is to discard, or after the last, the play begins: then True."""
    public.actor = next_seat(rules, public.actor)
    if public.actor != public.pitcher:
        return False
    public.phase = Phase.PLAY
    public.leaders[0] = public.pitcher
    return True


@kernel
def put_away(state, card):
    """A card of the actor goes face down out of play."""
    public = state.public
    state.hands[public.actor] &= ~bit(card)
    state.discards[public.actor] |= bit(card)
    public.cards[public.actor] -= 1
    public.discarded[public.actor] += 1


@kernel
def apply_exchange(rules, state, action):
    """Put one card away to draw another, or be done. All are drawn together, after the last was put away."""
    public = state.public
    seat = public.actor
    if action != DONE:
        put_away(state, action)
        public.exchanged[seat] += 1
    if action == DONE or public.exchanged[seat] == exchange_limit(rules, public):
        draw(state, seat, public.exchanged[seat], rules.widow_size)
        public.phase = Phase.DISCARD
        end_discard(rules, public)


@kernel
def apply_discard(rules, state, card):
    put_away(state, card)
    end_discard(rules, state.public)


@kernel
def end_discard(rules, public):
    """Who is down to the cards that he keeps makes way for the next."""
    if public.cards[public.actor] == rules.keep and not pass_discards_on(rules, public):
        start_discards(rules, public)


# Play.


@kernel
def legal_plays(rules, public, hand):
    """The cards of a hand that may be played next, by whoever holds it (rules.md, 5)."""
    trick_start = public.trick * rules.players
    if public.num_played == trick_start:
        return legal_leads(rules, public, hand)
    led = entry(public.history, trick_start)
    trumps = entry(rules.trumps, public.trump)
    if bit(led) & trumps:
        own = hand & trumps
        return own if own else hand
    suit = entry(SUIT_MASKS, suit_of(led)) & ~trumps
    own = hand & suit
    if rules.follow == Follow.MUST_FOLLOW:
        return own if own else hand
    must = own if rules.follow == Follow.MAY_TRUMP else hand & (suit | trumps)
    return hand & (suit | trumps) if must else hand


@kernel
def legal_leads(rules, public, hand):
    """The cards of a hand that may be led."""
    if public.trump == NOBODY:
        return hand & ~JOKERS  # the pitch: it names trump, which a joker cannot
    if public.trick == 0 and rules.first_lead == FirstLead.TRUMP:
        trumps = hand & entry(rules.trumps, public.trump)
        return trumps if trumps else hand
    return hand


@kernel
def shown_voids(rules, public, card):
    """The suits (bit s) that the next player shows not to hold by playing ``card``.

    He holds nothing of a suit if with any card of it beside this one, this one would not have been legal.
    """
    voids = np.int64(0)
    if public.trump == NOBODY:
        return voids
    if legal_plays(rules, public, ALL_CARDS) & bit(card):
        return voids  # legal whatever else he holds
    trumps = entry(rules.trumps, public.trump)
    for suit in range(4):
        cards = trumps if suit == public.trump else SUIT_MASKS[suit] & ~trumps
        if not legal_plays(rules, public, cards | bit(card)) & bit(card):
            voids |= 1 << suit
    return voids


@kernel
def apply_play(rules, state, card):
    public = state.public
    seat = np.int64(public.actor)
    public.voids[seat] |= shown_voids(rules, public, card)
    if public.trump == NOBODY:
        public.trump = suit_of(card)
    state.hands[seat] &= ~bit(card)
    public.cards[seat] -= 1
    public.history[public.num_played] = card
    public.num_played += 1
    public.played |= bit(card)
    if public.num_played == (public.trick + 1) * rules.players:
        end_trick(rules, public)
    else:
        public.actor = next_seat(rules, seat)


@kernel
def end_trick(rules, public):
    winner = trick_winner(rules, public)
    team = team_of(rules, winner)
    for i in range(public.trick * rules.players, public.num_played):
        public.card_points[team] += entry(CARD_POINTS, entry(public.history, i))
    public.tricks_won[team] += 1
    public.trick += 1
    public.leaders[public.trick] = winner
    public.actor = winner
    if public.trick == rules.keep:
        score_deal(rules, public)
        end_deal(rules, public)


@kernel
def end_deal(rules, public):
    """The deal is over, and the game with it when it is won or no deal is left."""
    public.phase = Phase.OVER
    public.actor = NOBODY
    public.deals += 1
    public.winner = game_winner(rules, public)
    public.game_over = public.winner != NOBODY or public.deals == public.deals_limit


# The dispatchers.


@kernel
def legal(rules, public, hand):
    """What the actor, who holds ``hand``, may do: a mask of cards, and a mask of the other actions (bit a - 54)."""
    nothing = np.int64(0)
    if public.phase == Phase.PLAY:
        return legal_plays(rules, public, hand), nothing
    if public.phase == Phase.BID:
        return nothing, legal_calls(rules, public) << (PASS - TRUMP)
    if public.phase == Phase.DISCARD:
        return hand, nothing
    if public.phase == Phase.EXCHANGE:
        return hand, bit(DONE - TRUMP)
    if public.phase == Phase.TRUMP:
        return nothing, rules.suit_set
    return nothing, nothing


@kernel
def apply(rules, state, action):
    """Play a legal action. When it ends the deal, that is scored and ``phase`` is OVER until ``next_deal``."""
    phase = state.public.phase
    if phase == Phase.PLAY:
        apply_play(rules, state, action)
    elif phase == Phase.BID:
        apply_call(rules, state, action - PASS)
    elif phase == Phase.DISCARD:
        apply_discard(rules, state, action)
    elif phase == Phase.EXCHANGE:
        apply_exchange(rules, state, action)
    elif phase == Phase.TRUMP:
        apply_trump(rules, state, action - TRUMP)


@kernel
def is_legal(legal_cards, legal_others, action):
    """Whether an action is in the two masks that ``legal`` gives."""
    if action < 0 or action >= NUM_ACTIONS:
        return False
    return ((legal_cards >> action if action < TRUMP else legal_others >> (action - TRUMP)) & 1) == 1


@kernel
def nth_legal(legal_cards, legal_others, n):
    """The n-th action, from 0, of the two masks that ``legal`` gives."""
    cards = count(legal_cards)
    return nth(legal_cards, n) if n < cards else TRUMP + nth(legal_others, n - cards)
