"""Chance in the OpenSpiel game: deals, and how one is dealt card by card."""

from collections.abc import Iterator
from math import comb
from typing import NamedTuple

import numpy as np

from pitch_env.cards import bit, card_text, cards_in, mask_of
from pitch_env.game import Game
from pitch_env.rules import Rules


class Deal(NamedTuple):
    """What chance gives: the dealer, a mask of cards for each seat, and the cards of the widow from its top."""

    dealer: int
    hands: tuple[int, ...]
    widow: tuple[int, ...]


class Dealing(NamedTuple):
    """A deal that is being dealt card by card, each hand in ascending order."""

    rules: Rules
    cards: tuple[int, ...]  # in the order in which they were dealt

    def _place(self) -> tuple[int, int]:
        """Who gets the next card, and how many it gets with it; the widow comes after the last seat."""
        return divmod(len(self.cards), self.rules.hand_size)

    def outcomes(self) -> list[tuple[int, float]]:
        """The cards that may come next, with their probabilities; none where all is dealt."""
        rules = self.rules
        left = [card for card in sorted(rules.deck) if card not in self.cards]
        pile, has = self._place()
        if pile >= rules.players:
            orders = rules.widow == "exchange" and len(left) > 1
            return [(card, 1 / len(left)) for card in left] if orders else []
        if has:
            left = [card for card in left if card > self.cards[-1]]
        need, number = rules.hand_size - has, len(left)
        ways = comb(number, need)
        return [(left[i], comb(number - 1 - i, need - 1) / ways) for i in range(number - need + 1)]

    def settle(self) -> "Dealing":
        """With all the cards that can come in one way only."""
        dealing = self
        while len(options := dealing.outcomes()) == 1:
            dealing = dealing.add(options[0][0])
        return dealing

    def add(self, card: int) -> "Dealing":
        return self._replace(cards=(*self.cards, card))

    def hand(self, seat: int) -> tuple[int, ...]:
        """What a seat has been dealt so far."""
        return self.cards[seat * self.rules.hand_size : (seat + 1) * self.rules.hand_size]

    def deal(self, dealer: int) -> Deal:
        """The finished deal."""
        rules = self.rules
        widow = self.cards[rules.players * rules.hand_size :]
        rest = tuple(card for card in rules.deck if card not in self.cards)
        return Deal(dealer, tuple(mask_of(self.hand(seat)) for seat in range(rules.players)), widow + rest)


def chance_actions(rules: Rules, deal: Deal) -> Iterator[int]:
    """The outcomes of explicit chance that give a deal's cards."""
    order = [card for mask in deal.hands for card in cards_in(mask)] + list(deal.widow)
    dealing = Dealing(rules, ()).settle()
    while dealing.outcomes():
        card = order[len(dealing.cards)]
        yield card
        dealing = dealing.add(card).settle()


def texts(cards: tuple[int, ...]) -> str:
    return ",".join(card_text(card) for card in cards)


def deal_of(game: Game) -> Deal:
    """The deal that a game began with."""
    hands = tuple(int(mask) for mask in game._state["dealt"][: game.rules.players])
    return Deal(game.dealer, hands, tuple(game._state["deck"][: game.rules.widow_size].tolist()))


def put_away_order(game: Game, seat: int, rng: np.random.Generator) -> list[int]:
    """An order in which a seat may have put away its cards: first those it exchanged, which it was dealt."""
    discards = cards_in(game._state["discards"][seat])
    dealt = int(game._state["dealt"][seat])
    order = list(rng.permutation([card for card in discards if dealt & int(bit(card))]))[: game.exchanged[seat]]
    order += [card for card in rng.permutation(discards) if card not in order]
    return [int(card) for card in order]
