"""The table in a terminal: what is shown, and what one may type. Needs no colours, and no terminal either."""

import contextlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agents.opinions import Opinion, action_symbol
from agents.table import Move, Table
from agents.table_words import balances, opinion_words, payment_words, result_words, told, trick_words
from pitch_env import IllegalAction, render
from pitch_env.actions import parse_action
from pitch_env.cards import CARD_ID

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

HELP = """\
Type a card (AS, 10d, +J), a bid (pass, 2, moon), a trump (trump S) or done, or one of these:
  ?            what an agent would do in your place, its probabilities and what it expects
  table        show the table again
  last         show the last trick
  deal         show what came of the last deal
  undo         take your last action back
  save FILE    write the table to a file
  load FILE    go on with a saved table
  new          begin a new game
  money        who has won how much, and who would pay whom
  join AGENT   take in another player between deals
  leave NAME   let one go and settle with him
  quit         leave, as the end of input does
Cards that you may play stand in [brackets]. An empty line begins the next deal."""
_ASK = {
    "bid": "your bid",
    "trump": "name trump",
    "exchange": "a card to exchange",
    "discard": "a card to put away",
    "play": "your card",
}
_LETTERS = str.maketrans({**{symbol: suit for suit, symbol in render.SYMBOLS.items()}, "·": "-"})
_RED = r"(?:[2-9TJQKA]|(?<= ))[♦♥]"


def make_console() -> "Console":
    """Where the table is shown: without any escapes where NO_COLOR is set, the terminal is dumb or there is none."""
    from rich.console import Console

    plain = "NO_COLOR" in os.environ
    console = Console(highlight=False, markup=False, emoji=False, color_system=None if plain else "auto")
    return console if console.is_terminal else Console(highlight=False, markup=False, emoji=False, width=120)


def play(table: Table, console: "Console", changed: Callable[[Table], None] = lambda table: None) -> None:
    """Play until the person leaves or the input ends.

    Args:
        table: where the person sits.
        console: where everything is shown; the input is read from the standard input.
        changed: is told of the table when a deal has ended or been taken back.
    """
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 (with it, lines can be edited and called up again)
    face = _Face(table, console, changed)
    face.greet()
    while face.turn():
        pass


class _Face:
    """The person's side of a table."""

    def __init__(self, table: Table, console: "Console", changed: Callable[[Table], None]) -> None:
        self.table, self.console, self.changed = table, console, changed
        self.shown = False  # whether the table is shown as it is now
        self.symbols = _can_write("♣♦♥♠·", console.encoding)

    # What is typed.

    def turn(self) -> bool:
        """Let the agents act, ask the person, and do what he says. False when he leaves."""
        self.tell(list(self.table.agents_moves()))
        if not self.shown:
            self.show_table()
        try:
            line = " ".join(input(self._prompt()).split())
        except EOFError:
            self.console.print()
            return False
        if not sys.stdin.isatty():
            print(line)  # what is piped in is not seen otherwise
        try:
            return self.obey(line)
        except IllegalAction as error:
            self.say(self.table.named(str(error)))
        except (ValueError, OSError) as error:
            self.say(str(error))
        return True

    def obey(self, line: str) -> bool:
        """Do what a line says. False when it says to leave. Raises ValueError or OSError for what cannot be done."""
        word, _, rest = line.partition(" ")
        if word.lower() in ("quit", "exit", "q"):
            return False
        command = _COMMANDS.get(word.lower())
        if command is not None:
            command(self, rest)
        elif not line and self.table.between:
            self.next_deal()
        elif line:
            self.tell([self.table.act(self._action(line))])
            self.shown = False
        return True

    def _action(self, line: str) -> int:
        """The action that a line says; ``10♦`` is ``TD``. Raises ValueError for what says none."""
        written = re.sub("^10(?=[CDHS]$)", "T", line.translate(_LETTERS).upper())
        try:
            return parse_action(written)
        except ValueError:
            can = f"; you may say {', '.join(self.table.game.legal())}" if self.table.yours else ""
            raise ValueError(f"{line!r} is neither an action nor a command{can}; type help for the commands") from None

    def _prompt(self) -> str:
        table = self.table
        if table.over:
            return "game over: new, undo, save FILE, load FILE or quit> "
        if table.between:
            return "Enter for the next deal> "
        others = [action for action in table.game.legal() if action not in CARD_ID]  # cards are seen in the hand
        return f"{_ASK[table.game.phase]} ({', '.join(others)})> " if others else f"{_ASK[table.game.phase]}> "

    def hint(self, rest: str) -> None:
        self.show_opinion(self.table.advice())

    def last(self, rest: str) -> None:
        trick = self.table.last_trick
        self.say("no trick has been taken yet" if trick is None else trick_words(self.table, trick))

    def deal(self, rest: str) -> None:
        if not self.table.results:
            raise ValueError("no deal is over yet")
        for line in result_words(self.table, self.table.results[-1]):
            self.say(line)

    def undo(self, rest: str) -> None:
        if not self.table.undo():
            raise ValueError("there is nothing to take back")
        self._note()
        self.shown = False

    def save(self, rest: str) -> None:
        self.table.save(Path(_named(rest, "save", "FILE")).expanduser())
        self.say(f"saved to {rest}")

    def load(self, rest: str) -> None:
        self.table = Table.load(Path(_named(rest, "load", "FILE")).expanduser())
        self.shown = False
        self.greet()

    def new(self, rest: str) -> None:
        self.table.new_game()
        self.shown = False
        self.greet()

    def next_deal(self) -> None:
        self.shown = False
        table, who = self.table.wander()
        if table is self.table:
            table.next_deal()
        else:
            self.say(f"{who}; a new game begins")
            self.table = table

    def money(self, rest: str) -> None:
        self.say(f"money: {balances(self.table)}")
        if self.table.ledger is not None:
            for payment in self.table.ledger.settlement().payments:
                self.say(f"  to settle: {payment_words(self.table, payment)}")

    def join(self, rest: str) -> None:
        self.table = self.table.joined(_named(rest, "join", "AGENT"))
        self.shown = False
        self.say(f"{self.table.others[-1]} joins; a new game begins")

    def leave(self, rest: str) -> None:
        self.table, payments = self.table.left(_named(rest, "leave", "NAME"))
        self.shown = False
        self.say(f"{rest} leaves; a new game begins")
        for payment in payments:
            self.say(payment_words(self.table, payment))

    def help(self, rest: str) -> None:
        self.say(HELP)

    # What is shown.

    def say(self, words: "str | Text") -> None:
        self.console.print(self._styled(words) if isinstance(words, str) else words, soft_wrap=True)

    def _styled(self, words: str) -> "Text":
        """Words with red suits in red, and with letters for suits where symbols cannot be written."""
        from rich.text import Text

        text = Text(words if self.symbols else words.translate(_LETTERS))
        text.highlight_regex(_RED, "red")
        return text

    def greet(self) -> None:
        table = self.table
        self.say(f"Game of seed {table.seed}; you sit at seat {table.seat}. Type help for what you can do.")

    def tell(self, moves: list[Move]) -> None:
        """Say what was done, and note the deals that are over."""
        self.shown = self.shown and not moves
        for line in told(self.table, moves):
            self.say(line)
        if any(move.deal for move in moves):
            self._note()

    def _note(self) -> None:
        try:
            self.changed(self.table)
        except (ValueError, OSError) as error:
            self.say(f"this was not recorded: {error}")

    def show_table(self) -> None:
        """Everything that the person sees."""
        from rich.table import Table as Grid

        self.shown = True
        table, game = self.table, self.table.game
        self.console.print()
        if table.between or table.over:
            scores = (f"{table.team_name(team)} {score}" for team, score in enumerate(game.scores))
            self.say(f"scores: {', '.join(scores)}")
            if table.ledger is not None:
                self.say(f"money: {balances(table)}")
            if table.over:
                self.say(table.named(render.turn(game)))
            return
        self.say(table.named(render.situation(game)))
        grid = Grid(box=None, pad_edge=False, header_style="")
        for title in ("", "", "score", "tricks", "points", "calls", "table", "exchanged"):
            grid.add_column(title, justify="right" if title in ("score", "tricks", "points", "exchanged") else "left")
        grid.columns[-1].header = "exchanged" if any(game.exchanged) else ""
        for seat in range(table.rules.players):
            grid.add_row(*map(self._styled, self._row(seat)), style="bold" if seat == table.seat else "")
        self.console.print(grid)
        self.show_hand()

    def _row(self, seat: int) -> list[str]:
        table, game = self.table, self.table.game
        team = table.rules.team_of(seat)
        tricks, points = render.taken(game, team)
        on_table = [render.card_symbol(card) for who, card in game.trick if who == seat]
        return [
            ("D" if seat == game.dealer else " ") + ("P" if seat == game.pitcher else " "),
            table.name_of(seat),
            str(game.scores[team]),
            str(tricks),
            str(points),
            " ".join(render.calls_of(game, seat)),
            "".join(on_table) + (" *" if seat == game.leading else ""),
            str(game.exchanged[seat] or ""),
        ]

    def show_hand(self) -> None:
        """The person's cards; those that may be chosen in brackets."""
        from rich.text import Text

        table, game = self.table, self.table.game
        legal = set(game.legal()) if table.yours else set()
        line = Text("your hand ")
        for card in render.in_order(game, game.hand(table.seat)):
            shown = render.card_symbol(card)
            cell = self._styled(f" [{shown}]" if card in legal else f"  {shown} ")
            cell.stylize("bold" if card in legal else "dim" if legal else "")
            line.append_text(cell)
        self.say(line)
        away = render.in_order(game, game.discards(table.seat))
        if away:
            self.say("put away  " + "".join(f"  {render.card_symbol(card)} " for card in away).rstrip())

    def show_opinion(self, opinion: Opinion) -> None:
        """What an agent would do, and the probabilities of all that is legal."""
        self.say(opinion_words(opinion))
        for action, share in opinion.probabilities:
            self.say(f"  {share:6.1%}  {action_symbol(action)}")


_COMMANDS: dict[str, Callable[[_Face, str], None]] = {
    "?": _Face.hint, "hint": _Face.hint, "help": _Face.help, "table": lambda face, rest: face.show_table(),
    "last": _Face.last, "deal": _Face.deal, "undo": _Face.undo, "save": _Face.save, "load": _Face.load,
    "new": _Face.new, "money": _Face.money, "join": _Face.join, "leave": _Face.leave,
}  # fmt: skip


def _named(rest: str, command: str, what: str) -> str:
    if not rest:
        raise ValueError(f"{command} what? Say {command} {what}")
    return rest


def _can_write(characters: str, encoding: str) -> bool:
    try:
        characters.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
