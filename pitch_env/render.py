"""Showing a game: ``text``, a table for terminals, and ``draw``, a picture of the table.

Both take a viewer. What they show him depends on nothing but what his seat knows (rules.md, 11): his own cards, and how
many the others hold. Without a viewer all hands lie open.
"""

import functools
import math
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pitch_env.cards import HIGH_JOKER, SUITS, bit, parse_card, suit_of
from pitch_env.game import DealResult, Game, Trick
from pitch_env.rules import pack
from pitch_env.scoring import trump_power

if TYPE_CHECKING:
    from PIL import ImageFont

SYMBOLS = dict(zip(SUITS, "♣♦♥♠", strict=True))
_TO_DO = {
    "bid": "to bid",
    "trump": "to name trump",
    "exchange": "to exchange",
    "discard": "to discard",
    "play": "to play",
}
_SUIT_ORDER = "SHCD "  # colours alternate; the jokers have no suit before trump is known

# What is said about a game, in both forms.


def card_symbol(card: str) -> str:
    """``"AS"`` as ``"A♠"``; jokers stay what they are."""
    return card[0] + SYMBOLS.get(card[1], card[1])


def player(seat: int) -> str:
    return f"player_{seat}"


def team(game: Game, team: int) -> str:
    """What a team is called: the player himself where each plays alone."""
    return f"team {team}" if game.rules.pairs else player(team)


def in_order(game: Game, cards: list[str]) -> list[str]:
    """Cards as a hand is held: the trumps, then suit by suit, each high to low."""
    trump = None if game.trump is None else SUITS.index(game.trump)
    trumps = 0 if trump is None else int(pack(game.rules)[0]["trumps"][trump])

    def place(text: str) -> tuple[int, int]:
        card = parse_card(text)
        if trumps & int(bit(card)):
            return -2, -int(trump_power(card, trump))
        if card >= HIGH_JOKER:
            return -1, card
        return _SUIT_ORDER.index(SUITS[suit_of(card)]), -(card % 13)

    return sorted(cards, key=place)


def shown_hand(game: Game, seat: int, viewer: int | None) -> list[str] | int:
    """The cards of a seat in order, or only how many they are where the viewer cannot see them."""
    hand = game.hand(seat)
    return in_order(game, hand) if viewer in (None, seat) else len(hand)


def calls_of(game: Game, seat: int) -> list[str]:
    """What a seat has said in the auction of this deal."""
    return [text for caller, text in game.calls if caller == seat]


def situation(game: Game) -> str:
    """Deal, dealer, bid, trump and trick in a line."""
    over = game.actor is None
    deal = f"deal {game.deals_played + (not over)}"
    says = [f"{deal} of {game.deals_limit}" if game.deals_limit else deal, f"dealer {player(game.dealer)}"]
    if game.bid is not None:
        highest = [seat for seat, text in game.calls if text != "pass"][-1]
        says.append(f"bid {game.bid} by {player(highest)}")
    if game.trump is not None:
        says.append(f"trump {SYMBOLS[game.trump]}")
    if game.phase == "play":
        says.append(f"trick {len(game.tricks) + 1} of {game.rules.keep}")
    return " · ".join(says)


def turn(game: Game) -> str:
    """Who is to do what, or how the game ended."""
    if game.actor is not None:
        return f"{player(game.actor)} {_TO_DO[game.phase]}"
    if not game._public["game_over"]:
        return "deal over"  # as a record's replay ends, which deals no further
    return "game over" if game.winner is None else f"game over, {team(game, game.winner)} wins"


def taken(game: Game, team: int) -> tuple[int, int]:
    """How many tricks of this deal a team has won, and the card points in them."""
    return int(game._public["tricks_won"][team]), int(game._public["card_points"][team])


def fresh_result(game: Game) -> DealResult | None:
    """The result of the last deal as long as nothing has happened in the next."""
    return game.last_deal if game.actor is None or not game.calls else None


def result_lines(game: Game, deal: DealResult) -> list[str]:
    """What came of a deal: the bid, the points, the change of the scores."""
    if deal.pitcher is None:
        return ["all passed, the deal was thrown in"]
    lines = [f"{player(deal.pitcher)} bid {deal.bid} and {'made it' if deal.made else 'was set'}"]
    if deal.items:
        lines.append(", ".join(f"{item.replace('_', ' ')} {team(game, to)}" for item, to in deal.items.items()))
    changes = (f"{team(game, number)} {change:+d}" for number, change in enumerate(deal.score_change))
    return [*lines, ", ".join(changes)]


def last_trick(game: Game) -> Trick | None:
    """The trick that lies turned over: the last one of this deal, as long as no card of the next is on the table."""
    return game.tricks[-1] if game.tricks and not game.trick else None


# Text.


def text(game: Game, viewer: int | None = None, color: bool = False) -> str:
    """The table as text, without an end of line.

    Args:
        game: what is shown.
        viewer: the seat that looks; None opens all hands.
        color: red suits in red and the player to act in bold, for terminals that know ANSI escapes.

    Raises:
        ValueError: a viewer who is not there.
    """
    _check_viewer(game, viewer)
    lines = [situation(game), turn(game), "", *_rows(game, viewer)]
    trick = last_trick(game)
    if trick is not None:
        cards = "  ".join(f"{player(seat)} {card_symbol(card)}" for seat, card in trick[1])
        lines += ["", f"trick {len(game.tricks)}, won by {player(trick[0])}: {cards}"]
    deal = fresh_result(game)
    if deal is not None:
        lines += ["", *result_lines(game, deal)]
    shown = "\n".join(line.rstrip() for line in lines)
    return _colored(shown) if color else shown


def _check_viewer(game: Game, viewer: int | None) -> None:
    if viewer is not None:
        game.rules.team_of(viewer)


def _rows(game: Game, viewer: int | None) -> list[str]:
    """A line for each seat under a line of titles, in columns: numbers to the right, words to the left."""
    titles = ["", "", "score", "tricks", "points", "calls", "table", "hand"]
    if game.rules.pairs:
        titles[2] = "team score"
    table = [titles, *(_row(game, seat, viewer) for seat in range(game.rules.players))]
    widths = [max(len(row[column]) for row in table) for column in range(len(titles))]
    right = {2, 3, 4}

    def line(row: list[str]) -> str:
        cells = enumerate(zip(row, widths, strict=True))
        return "  ".join(cell.rjust(width) if i in right else cell.ljust(width) for i, (cell, width) in cells)

    return [line(row) for row in table]


def _row(game: Game, seat: int, viewer: int | None) -> list[str]:
    own_team = game.rules.team_of(seat)
    marks = (">" if seat == game.actor else " ") + ("D" if seat == game.dealer else " ")
    score, (tricks, points) = str(game.scores[own_team]), taken(game, own_team)
    on_table = [card_symbol(card) + ("*" if seat == game.leading else "") for who, card in game.trick if who == seat]
    return [
        marks + ("P" if seat == game.pitcher else " "),
        player(seat) + (" (you)" if seat == viewer else ""),
        f"{own_team}: {score}" if game.rules.pairs else score,
        str(tricks),
        str(points),
        " ".join(calls_of(game, seat)),
        "".join(on_table),
        _hand_text(game, seat, viewer),
    ]


def _hand_text(game: Game, seat: int, viewer: int | None) -> str:
    hand = shown_hand(game, seat, viewer)
    parts = ["?? " * hand if isinstance(hand, int) else " ".join(map(card_symbol, hand))]
    if game.exchanged[seat]:
        parts.append(f"exchanged {game.exchanged[seat]}")
    if not isinstance(hand, int) and game.discards(seat):
        parts.append("put away " + " ".join(map(card_symbol, in_order(game, game.discards(seat)))))
    return "  ".join(part.strip() for part in parts)


def _colored(shown: str) -> str:
    shown = re.sub("(?:[2-9TJQKA]|(?<= ))[♦♥]", "\x1b[31m\\g<0>\x1b[39m", shown)
    return re.sub("^>.*$", "\x1b[1m\\g<0>\x1b[22m", shown, flags=re.MULTILINE)


# Picture. Everything is laid out on a table of 800 x 600 and drawn at twice the size that is asked for; scaling it down
# smooths the edges.

_WIDTH, _HEIGHT, _SMOOTH = 800, 600, 2
_CENTER = (400, 313)
_TRICK_CARD = 66  # height; a card is 5 wide and 7 high
_FELT, _PANEL, _RAIL = (29, 105, 66), (20, 76, 48), (13, 52, 33)
_WHITE, _PALE, _GOLD, _INK, _RED = (255, 255, 255), (186, 217, 199), (255, 209, 71), (28, 28, 32), (200, 30, 40)
_BACK, _BACK_EDGE, _CARD_EDGE = (52, 84, 150), (170, 190, 230), (90, 100, 95)
_TEAM_COLORS = ((255, 190, 120), (140, 205, 255), (200, 235, 130), (235, 170, 240))

Color = tuple[int, int, int]


def draw(game: Game, viewer: int | None = None, size: tuple[int, int] = (800, 600)) -> np.ndarray:
    """The table as a picture.

    Args:
        game: what is shown.
        viewer: the seat that looks, which sits at the bottom; None opens all hands, and seat 0 sits there.
        size: width and height in pixels.

    Returns:
        uint8 [height, width, 3], red, green, blue.

    Raises:
        ValueError: a viewer who is not there, or a size that is not positive.
    """
    _check_viewer(game, viewer)
    width, height = size
    if width < 1 or height < 1:
        raise ValueError(f"size={size!r} is not allowed; width and height are positive")
    from PIL import Image

    canvas = _Canvas(width, height)
    _draw_table(canvas)
    _draw_headings(canvas, game)
    for seat in range(game.rules.players):
        _draw_seat(canvas, game, seat, viewer)
    _draw_middle(canvas, game, viewer)
    return np.array(canvas.image.resize((width, height), Image.Resampling.BOX))


class _Canvas:
    """A picture that takes the coordinates of the 800 x 600 table."""

    def __init__(self, width: int, height: int) -> None:
        from PIL import Image, ImageDraw

        self.scale = _SMOOTH * min(width / _WIDTH, height / _HEIGHT)
        self.left = (_SMOOTH * width - self.scale * _WIDTH) / 2
        self.top = (_SMOOTH * height - self.scale * _HEIGHT) / 2
        self.image: Image.Image = Image.new("RGB", (_SMOOTH * width, _SMOOTH * height), _RAIL)
        self.pen: ImageDraw.ImageDraw = ImageDraw.Draw(self.image)

    def at(self, x: float, y: float) -> tuple[float, float]:
        return self.left + self.scale * x, self.top + self.scale * y

    def box(
        self, x: float, y: float, width: float, height: float, radius: float, fill: Color, edge: Color, line: float = 1
    ) -> None:
        corners = [self.at(x, y), self.at(x + width, y + height)]
        self.pen.rounded_rectangle(corners, self.scale * radius, fill, edge, max(1, round(self.scale * line)))

    def disc(self, x: float, y: float, radius: float, fill: Color) -> None:
        self.pen.ellipse([self.at(x - radius, y - radius), self.at(x + radius, y + radius)], fill)

    def write(self, x: float, y: float, words: str, size: float, color: Color = _WHITE, anchor: str = "la") -> None:
        """Words at a point; the anchor is Pillow's, horizontally ``l m r`` and vertically ``a m s``."""
        self.pen.text(self.at(x, y), words, color, _font(self._pixels(size)), anchor)

    def length(self, words: str, size: float) -> float:
        return _font(self._pixels(size)).getlength(words) / self.scale

    def _pixels(self, size: float) -> int:
        return max(1, round(self.scale * size))


@functools.lru_cache(64)
def _font(pixels: int) -> "ImageFont.FreeTypeFont":
    """Matplotlib's own DejaVu Sans Bold, which has the suits."""
    from matplotlib import get_data_path
    from PIL import ImageFont

    return ImageFont.truetype(f"{get_data_path()}/fonts/ttf/DejaVuSans-Bold.ttf", pixels)


class _Seat(NamedTuple):
    """Where a seat is: a unit vector from the middle, its panel, and the height of the cards in it."""

    across: float
    down: float
    x: float
    y: float
    width: float
    height: float
    card: float


def _seat_at(game: Game, seat: int, viewer: int | None) -> _Seat:
    """The viewer, or seat 0, sits at the bottom, and the others follow clockwise."""
    players = game.rules.players
    angle = math.tau * (0.25 + ((seat - (viewer or 0)) % players) / players)
    across, down = math.cos(angle), math.sin(angle)
    width, card = {2: (620, 72), 3: (254, 72), 4: (254, 72), 5: (236, 58), 6: (236, 58)}.get(players, (188, 58))
    height = card + 44
    # The seats most to the side touch the edge of the table.
    widest = max(abs(math.cos(math.tau * (0.25 + i / players))) for i in range(players))
    x = _CENTER[0] + across / max(widest, 0.5) * (_CENTER[0] - width / 2 - 6) - width / 2
    y = _CENTER[1] + down * (_HEIGHT - _CENTER[1] - height / 2 - 6) - height / 2
    return _Seat(across, down, x, y, width, height, card)


def _draw_table(canvas: _Canvas) -> None:
    canvas.box(0, 26, _WIDTH, _HEIGHT - 26, 40, _FELT, _RAIL, 2)


def _draw_headings(canvas: _Canvas, game: Game) -> None:
    canvas.write(10, 13, situation(game), 13, _PALE, "lm")
    canvas.write(_WIDTH - 10, 13, turn(game), 13, _GOLD, "rm")


def _draw_seat(canvas: _Canvas, game: Game, seat: int, viewer: int | None) -> None:
    """A panel with a name, the dealer's mark, the score, the calls and tricks, and the hand."""
    place = _seat_at(game, seat, viewer)
    x, y, acts = place.x, place.y, seat == game.actor
    canvas.box(x, y, place.width, place.height, 8, _PANEL, _GOLD if acts else _RAIL, 3 if acts else 1)
    own_team = game.rules.team_of(seat)
    color = _TEAM_COLORS[own_team] if game.rules.pairs else _WHITE
    canvas.write(x + 8, y + 12, player(seat), 14, color, "lm")
    if seat == game.dealer:
        mark = x + 8 + canvas.length(player(seat), 14) + 13
        canvas.disc(mark, y + 12, 8, _WHITE)
        canvas.write(mark, y + 12, "D", 12, _INK, "mm")
    canvas.write(x + place.width - 8, y + 12, _score_words(game, own_team), 14, color, "rm")
    said = calls_of(game, seat) if game.phase == "bid" else calls_of(game, seat)[-1:]
    calls = " ".join(said) + (f", exchanged {game.exchanged[seat]}" if game.exchanged[seat] else "")
    canvas.write(x + 8, y + 29, calls, 11, _GOLD if seat == game.pitcher else _PALE, "lm")
    tricks, points = taken(game, own_team)
    if tricks:
        won = f"{tricks} trick{'s' * (tricks > 1)}, {points} pts"
        canvas.write(x + place.width - 8, y + 29, won, 11, _PALE, "rm")
    _draw_hand(canvas, place, shown_hand(game, seat, viewer))


def _score_words(game: Game, own_team: int) -> str:
    deal, score = fresh_result(game), game.scores[own_team]
    return str(score) if deal is None else f"{score} ({deal.score_change[own_team]:+d})"


def _draw_hand(canvas: _Canvas, place: _Seat, hand: list[str] | int) -> None:
    """Cards side by side, or where they are many, each over the last one's right side; backs where nobody looks."""
    count = hand if isinstance(hand, int) else len(hand)
    height, width = place.card, _card_width(place.card)
    step = min(width * (0.35 if isinstance(hand, int) else 0.66), (place.width - 14 - width) / max(1, count - 1))
    left, top = place.x + place.width / 2 - (width + step * (count - 1)) / 2, place.y + 39
    for i in range(count):
        if isinstance(hand, int):
            _draw_back(canvas, left + step * i, top, height)
        else:
            _draw_card(canvas, left + step * i, top, hand[i], height, covered=i < count - 1)


def _card_width(height: float) -> float:
    return height * 5 / 7


def _draw_back(canvas: _Canvas, x: float, y: float, height: float) -> None:
    canvas.box(x, y, _card_width(height), height, 5, _WHITE, _CARD_EDGE)
    canvas.box(x + 3, y + 3, _card_width(height) - 6, height - 6, 3, _BACK, _BACK_EDGE)


def _draw_card(
    canvas: _Canvas, x: float, y: float, card: str, height: float, *, covered: bool = False, faded: bool = False
) -> None:
    """A card: rank above suit at the left, where it shows under others, and the suit once more, larger."""
    width, unit = _card_width(height), height / 56
    color, face = (_RED if card[1] in "DH" or card == "+J" else _INK), _WHITE
    if faded:
        color, face = _mix(color, _FELT), _mix(face, _FELT)
    canvas.box(x, y, width, height, 5, face, _CARD_EDGE)
    rank, symbol = (card, "★") if card[1] == "J" else (card[0].replace("T", "10"), SYMBOLS[card[1]])
    canvas.write(x + 9 * unit, y + 11 * unit, rank, (16 if len(rank) == 1 else 11.5) * unit, color, "mm")
    canvas.write(x + 9 * unit, y + 27 * unit, symbol, 15 * unit, color, "mm")
    if not covered:
        canvas.write(x + width - 13 * unit, y + height - 17 * unit, symbol, 27 * unit, color, "mm")


def _mix(color: Color, other: Color) -> Color:
    return (color[0] + other[0]) // 2, (color[1] + other[1]) // 2, (color[2] + other[2]) // 2


def _draw_middle(canvas: _Canvas, game: Game, viewer: int | None) -> None:
    """The trick on the table or the one turned over, around trump and bid; or the result of the deal."""
    deal = fresh_result(game)
    if deal is not None:
        _draw_lines(canvas, [*_wrapped(game, deal), turn(game)])
        return
    if game.trump is not None:
        canvas.disc(*_CENTER, 27, _PANEL)
        color = (255, 120, 120) if game.trump in "DH" else _WHITE
        canvas.write(_CENTER[0], _CENTER[1] - 3, SYMBOLS[game.trump], 34, color, "mm")
    if game.bid is not None:
        canvas.write(_CENTER[0], _CENTER[1] + (38 if game.trump else 0), f"bid {game.bid}", 14, _GOLD, "mm")
    turned = last_trick(game)
    trick, winner = (game.trick, game.leading) if turned is None else (turned[1], turned[0])
    for seat, card in trick:
        _draw_played(canvas, game, seat, viewer, card, wins=seat == winner, faded=turned is not None)


def _draw_played(
    canvas: _Canvas, game: Game, seat: int, viewer: int | None, card: str, *, wins: bool, faded: bool
) -> None:
    """A card of the trick before the seat that played it, with a rim if it wins."""
    place = _seat_at(game, seat, viewer)
    width, height = _card_width(_TRICK_CARD), _TRICK_CARD
    far = {7: 138, 8: 150}.get(game.rules.players, 112)
    x = _CENTER[0] + place.across * far - width / 2
    y = _CENTER[1] + place.down * 100 - height / 2
    if wins:
        canvas.box(x - 4, y - 4, width + 8, height + 8, 8, _GOLD, _GOLD)
    _draw_card(canvas, x, y, card, _TRICK_CARD, faded=faded)


def _wrapped(game: Game, deal: DealResult) -> list[str]:
    """The result with two points a line and without the changes, which stand at the seats."""
    lines = result_lines(game, deal)
    if len(lines) == 1:
        return lines
    items = lines[1].split(", ") if deal.items else []
    return [lines[0], *(", ".join(items[i : i + 2]) for i in range(0, len(items), 2))]


def _draw_lines(canvas: _Canvas, lines: list[str]) -> None:
    """Lines of words in the middle of the table, the first and the last in gold."""
    for i, line in enumerate(lines):
        y = _CENTER[1] + 19 * (i - (len(lines) - 1) / 2)
        canvas.write(_CENTER[0], y, line, 13, _GOLD if i in (0, len(lines) - 1) else _WHITE, "mm")
