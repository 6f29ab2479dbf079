"""The rules once more: slow, plain, straight from the pages, to hold the kernels to.

Nothing here is taken from ``pitch_env`` but the values of the fields of ``Rules``. Cards and actions are text, seats
and teams numbers. One ``Table`` is one deal.
"""

from typing import Any

from pitch_env import Rules

RANKS, SUITS = "23456789TJQKA", "CDHS"
JOKERS = ("+J", "-J")
SAME_COLOUR = {"C": "S", "S": "C", "D": "H", "H": "D"}
CARD_POINTS = {"T": 10, "A": 4, "K": 3, "Q": 2, "J": 1}
WORTH = {"three": 3}  # all else is worth 1


def deck(rules: Rules) -> list[str]:
    """All cards."""
    return [rank + suit for suit in rules.suits for rank in rules.ranks] + list(JOKERS[: rules.jokers])


def bid_value(bid: str) -> int:
    """The moon is the highest bid."""
    return 11 if bid == "moon" else int(bid)


class Table:
    """One deal: who may do what, what it does, and what comes of it."""

    def __init__(self, rules: Rules, hands: list[list[str]], widow: list[str], dealer: int, scores: list[int]) -> None:
        self.rules, self.players = rules, rules.players
        self.num_teams = rules.players // 2 if rules.pairs else rules.players
        self.hands = [set(hand) for hand in hands]
        self.widow = list(widow)
        self.discards: list[set[str]] = [set() for _ in hands]
        self.dealer, self.scores = dealer, list(scores)
        self.calls: list[tuple[int, str]] = []
        self.bid: Any = None  # text, or None
        self.pitcher: Any = None  # a seat, or None
        self.trump: Any = None  # a suit, or None
        self.exchanged = [0] * rules.players
        self.trick: list[tuple[int, str]] = []
        self.tricks: list[tuple[int, list[tuple[int, str]]]] = []  # winner, cards
        self.phase = "bid"
        self.actor: Any = self.left_of(dealer)
        self.winner: int | None = None

    def left_of(self, seat: int) -> int:
        return (seat + 1) % self.players

    def team(self, seat: int) -> int:
        return seat % self.num_teams

    def legal(self) -> set[str]:
        if self.phase == "bid":
            return self.legal_bids()
        if self.phase == "trump":
            return {f"trump {suit}" for suit in self.rules.suits}
        if self.phase == "exchange":
            return self.hands[self.actor] | {"done"}
        if self.phase == "discard":
            return set(self.hands[self.actor])
        if self.phase == "play":
            return self.legal_cards()
        return set()

    def apply(self, action: str) -> None:
        """Take a legal action."""
        {
            "bid": self.take_bid,
            "trump": self.take_trump,
            "exchange": self.take_exchange,
            "discard": self.take_discard,
            "play": self.take_card,
        }[self.phase](action)

    # 3. Auction.

    def legal_bids(self) -> set[str]:
        rules = self.rules
        bids = [str(number) for number in range(rules.min_bid, rules.max_bid + 1)] + ["moon"] * rules.moon
        is_dealer = self.actor == self.dealer
        if self.bid is None and is_dealer and rules.forced_bid == "exact":
            return {str(rules.forced_bid_value)}
        if self.bid is None and is_dealer and rules.forced_bid == "at_least":
            return {bid for bid in bids if bid_value(bid) >= rules.forced_bid_value}
        legal = {"pass"} | {bid for bid in bids if self.bid is None or bid_value(bid) > bid_value(self.bid)}
        if self.bid is not None and is_dealer and rules.steal and self.pitcher != self.dealer:
            legal.add(self.bid)
        return legal

    def passed(self) -> set[int]:
        return {seat for seat, call in self.calls if call == "pass"}

    def take_bid(self, call: str) -> None:
        self.calls.append((self.actor, call))
        if call != "pass":
            self.bid, self.pitcher = call, self.actor
        if self.auction_is_over():
            self.end_auction()
            return
        self.actor = self.left_of(self.actor)
        while self.actor in self.passed():
            self.actor = self.left_of(self.actor)

    def auction_is_over(self) -> bool:
        seat, call = self.calls[-1]
        if call == ("moon" if self.rules.moon else str(self.rules.max_bid)):
            return True
        if self.rules.auction == "once":
            return seat == self.dealer
        still_in = self.players - len(self.passed())
        return still_in == 0 or (still_in == 1 and self.bid is not None)

    def end_auction(self) -> None:
        if self.pitcher is None:  # thrown in
            self.phase, self.actor = "over", None
            return
        self.actor = self.pitcher
        if self.rules.widow == "pitcher":
            self.hands[self.pitcher] |= set(self.widow)
            self.widow = []
        if self.rules.trump == "named":
            self.phase = "trump"
        else:
            self.begin_discards()

    # 4. Trump, exchange, discards.

    def take_trump(self, action: str) -> None:
        self.trump = action[-1]
        self.begin_discards()

    def begin_discards(self) -> None:
        """Each in turn from the pitcher: [seat, "exchange"], [seat, "discard"], where there is anything to do."""
        self.still_to_discard = [(self.pitcher + i) % self.players for i in range(self.players)]
        self.next_discarder()

    def next_discarder(self) -> None:
        while self.still_to_discard:
            self.actor = self.still_to_discard.pop(0)
            self.may_exchange = min(self.rules.exchange, len(self.widow)) if self.rules.widow == "exchange" else 0
            if self.may_exchange:
                self.phase = "exchange"
                return
            if len(self.hands[self.actor]) > self.rules.keep:
                self.phase = "discard"
                return
        self.phase, self.actor = "play", self.pitcher

    def put_away(self, card: str) -> None:
        self.hands[self.actor].remove(card)
        self.discards[self.actor].add(card)

    def take_exchange(self, action: str) -> None:
        seat = self.actor
        if action != "done":
            self.put_away(action)
            self.exchanged[seat] += 1
        if action == "done" or self.exchanged[seat] == self.may_exchange:
            drawn, self.widow = self.widow[: self.exchanged[seat]], self.widow[self.exchanged[seat] :]
            self.hands[seat] |= set(drawn)
            self.phase = "discard"
            self.end_discards_if_done()

    def take_discard(self, card: str) -> None:
        self.put_away(card)
        self.end_discards_if_done()

    def end_discards_if_done(self) -> None:
        if len(self.hands[self.actor]) == self.rules.keep:
            self.next_discarder()

    # 5. Play.

    def is_trump(self, card: str) -> bool:
        if card in JOKERS or card[1] == self.trump:
            return True
        return self.rules.off_jack and card == "J" + SAME_COLOUR[self.trump]

    def suit(self, card: str) -> str:
        """The suit that a card counts as."""
        return self.trump if self.is_trump(card) else card[1]

    def trump_order(self) -> list[str]:
        """Low to high."""
        plain = [rank + self.trump for rank in RANKS]
        return [*plain[:9], "-J", "+J", "J" + SAME_COLOUR[self.trump], *plain[9:]]

    def legal_cards(self) -> set[str]:
        hand = self.hands[self.actor]
        if self.trump is None:
            return hand - set(JOKERS)
        trumps = {card for card in hand if self.is_trump(card)}
        if not self.trick:
            if not self.tricks and self.rules.first_lead == "trump" and trumps:
                return trumps
            return hand
        led = self.suit(self.trick[0][1])
        same = {card for card in hand if self.suit(card) == led}
        if led == self.trump or self.rules.follow == "must_follow":
            return same or hand
        if self.rules.follow == "may_trump":
            return same | trumps if same else hand
        return same | trumps or hand

    def beats(self, card: str, best: str) -> bool:
        if self.is_trump(card):
            order = self.trump_order()
            return not self.is_trump(best) or order.index(card) > order.index(best)
        return not self.is_trump(best) and card[1] == best[1] and RANKS.index(card[0]) > RANKS.index(best[0])

    def leading(self) -> int:
        """Who is winning the trick on the table."""
        best_seat, best = self.trick[0]
        for seat, card in self.trick[1:]:
            if self.beats(card, best):
                best_seat, best = seat, card
        return best_seat

    def take_card(self, card: str) -> None:
        if self.trump is None:
            self.trump = card[1]
        self.hands[self.actor].remove(card)
        self.trick.append((self.actor, card))
        if len(self.trick) < self.players:
            self.actor = self.left_of(self.actor)
            return
        self.actor = self.leading()
        self.tricks.append((self.actor, self.trick))
        self.trick = []
        if len(self.tricks) == self.rules.keep:
            self.phase, self.actor = "over", None
            self.score()

    # 6. Points.

    def card_points(self) -> list[int]:
        """By team, in its tricks."""
        points = [0] * self.num_teams
        for winner, cards in self.tricks:
            points[self.team(winner)] += sum(CARD_POINTS.get(card[0], 0) for _, card in cards)
        return points

    def items(self) -> dict[str, int]:
        """Who took what: item -> team."""
        taker = {card: self.team(winner) for winner, cards in self.tricks for _, card in cards}
        holder = {card: self.team(seat) for _, cards in self.tricks for seat, card in cards}
        trumps = [card for card in self.trump_order() if card in taker and self.is_trump(card)]
        items = {}
        if trumps:
            items["high"] = taker[trumps[-1]]
            items["low"] = (holder if self.rules.low_to == "holder" else taker)[trumps[0]]
        counted = {"jack": "J" + self.trump, "high_joker": "+J", "low_joker": "-J"}
        if self.rules.off_jack:
            counted["off_jack"] = "J" + SAME_COLOUR[self.trump]
        if self.rules.three:
            counted["three"] = "3" + self.trump
        if self.rules.game == "ten":
            counted["game"] = "T" + self.trump
        items |= {item: taker[card] for item, card in counted.items() if card in taker}
        most = max(self.card_points())
        if self.rules.game == "count" and self.card_points().count(most) == 1:
            items["game"] = self.card_points().index(most)
        return items

    def points(self) -> list[int]:
        """By team, of this deal."""
        points = [0] * self.num_teams
        for item, team in self.items().items():
            points[team] += WORTH.get(item, 1)
        return points

    def score(self) -> None:
        team, items = self.team(self.pitcher), self.items()
        if self.bid == "moon":
            four = all(items.get(item) == team for item in ("high", "low", "jack", "game"))
            self.made = four and all(self.team(winner) == team for winner, _ in self.tricks)
            lost = self.rules.moon_value
        else:
            self.made = self.points()[team] >= int(self.bid)
            lost = int(self.bid)
        self.change = self.points()
        if not self.made:
            self.change[team] = -lost
        self.scores = [score + change for score, change in zip(self.scores, self.change, strict=True)]
        self.winner = self.game_winner()

    # 7. The end.

    def game_winner(self) -> int | None:
        target, team = self.rules.target, self.team(self.pitcher)
        if target is None:
            return None
        out = [each for each, score in enumerate(self.scores) if score >= target]
        if self.rules.winner == "pitcher":
            return team if team in out else None
        if self.rules.winner == "maker":
            return team if team in out and self.made else None
        if self.rules.both_out == "pitcher" and team in out:
            return team
        highest = [each for each in out if self.scores[each] == max(self.scores[each] for each in out)]
        return highest[0] if len(highest) == 1 else None
