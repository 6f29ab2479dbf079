"""What is said about a table: what was done, who took a trick, what a deal brought, who owes what."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from agents.opinions import Opinion, action_symbol
from agents.table import Move, Table
from pitch_env import DealResult, render
from pitch_env.money import Payment
from pitch_env.result import Trick

_HIDES = {"exchange": "exchanges", "discard": "puts away"}


def told(table: Table, moves: Iterable[Move]) -> Iterator[str]:
    """What was done, a line each. The person's own actions and the cards of a trick that goes on go without saying."""
    for (seat, hidden), group in groupby(moves, lambda move: (move.seat, move.hidden)):
        done = list(group)
        if hidden and seat != table.seat:
            yield f"{table.name_of(seat)} {_HIDES[done[0].phase]} {len(done)} card{'s' * (len(done) > 1)}"
        for move in done:
            yield from _told(table, move)


def _told(table: Table, move: Move) -> Iterator[str]:
    name = table.name_of(move.seat)
    if move.seat != table.seat and move.phase in ("bid", "trump"):
        words = {"bid": f"bids {move.action}", "trump": f"names {action_symbol(move.action)}"}[move.phase]
        yield f"{name} {'passes' if move.action == 'pass' else words}"
    if move.trick is not None:
        yield trick_words(table, move.trick)
    if move.deal is not None:
        yield from result_words(table, move.deal)


def trick_words(table: Table, trick: Trick) -> str:
    """The cards of a trick and who won it."""
    winner, cards = trick
    played = ", ".join(f"{table.name_of(seat)} {render.card_symbol(card)}" for seat, card in cards)
    return f"{played}: {table.named(f'player_{winner} wins')}"


def result_words(table: Table, deal: DealResult) -> list[str]:
    """What came of a deal, in lines."""
    return [table.named(line) for line in render.result_lines(table.game, deal)]


def balances(table: Table) -> str:
    """Who has won how much. Raises ValueError where the rules are not played for money."""
    if table.ledger is None:
        raise ValueError("these rules are not played for money")
    return ", ".join(f"{name} {dollars(cents, '+')}" for name, cents in table.ledger.whole_balances().items())


def payment_words(table: Table, payment: Payment) -> str:
    """Who pays whom how much."""
    return table.named(f"{payment.payer} pays {payment.payee} {dollars(payment.cents)}")


def dollars(cents: int, sign: str = "") -> str:
    """Cents as dollars; ``sign="+"`` for what may be won or lost."""
    return f"{cents / 100:{sign}.2f} $"


def opinion_words(opinion: Opinion) -> str:
    """What an agent would choose, and what it expects."""
    words = f"{opinion.agent} would choose {action_symbol(opinion.choice)}"
    if not opinion.expects:
        return words
    return f"{words} and expects {opinion.expects}{'' if opinion.chances else ' of this deal, relative to the others'}"
