"""What the pages of play_web.py are made of: cards, the felt with everybody around it, an agent's opinion."""

import math
from collections.abc import Callable, Sequence

from nicegui import ui

from agents.opinions import Opinion, action_symbol
from agents.table_words import opinion_words
from pitch_env import Game, render

CSS = """
body { background: #f3f1ec; }
.felt { position: relative; width: 820px; max-width: 98vw; aspect-ratio: 820 / 560; border-radius: 60px;
  background: #1d6942; border: 10px solid #6b4a2f; box-shadow: 0 4px 14px #0005; color: #fff; }
.at { position: absolute; transform: translate(-50%, -50%); }
.seat { padding: 5px 4px; border-radius: 9px; background: #144c30; border: 2px solid #0d3421;
  font-size: 13px; line-height: 1.35; text-align: center; }
.seat.acts { border-color: #ffd147; }
.seat b { font-size: 15px; }
.mark { display: inline-block; padding: 0 5px; margin-left: 4px; border-radius: 9px; background: #fff; color: #222;
  font-size: 11px; }
.cards { display: flex; flex-wrap: wrap; justify-content: center; gap: 3px; }
.card { width: 54px; height: 76px; padding: 0; border-radius: 7px; border: 1px solid #777; background: #fff;
  color: #1c1c20; font: bold 21px/1.15 "DejaVu Sans", sans-serif; text-align: center; display: inline-flex;
  flex-direction: column; justify-content: center; box-shadow: 0 1px 3px #0004; user-select: none; }
.card.red { color: #c81e28; }
.card.small { width: 27px; height: 36px; font-size: 12px; border-radius: 4px; }
.card.back { width: 15px; height: 22px; border-radius: 3px; background: #34548f; border-color: #dde; }
.card.pale { opacity: .55; }
.card.wins { outline: 3px solid #ffd147; }
button.card { cursor: pointer; transform: translateY(-8px); border: 2px solid #1d6942; }
button.card:hover { transform: translateY(-14px); }
.share { display: flex; align-items: center; gap: 8px; font-size: 14px; }
.share .bar { height: 11px; border-radius: 3px; background: #1d6942; }
"""


def card(text: str, kind: str = "", on_click: Callable[[], None] | None = None) -> None:
    """A card; one that can be clicked is a button. ``kind`` is classes of the style sheet."""
    red = "red" if text[1] in "DH" or text == "+J" else ""
    tag = "div" if on_click is None else "button"
    with ui.element(tag).classes(f"card {red} {kind}").props(f'data-card="{text}"') as element:
        symbol = "★" if text[1] == "J" else render.SYMBOLS[text[1]]
        for words in (text if text[1] == "J" else text[0].replace("T", "10"), symbol):
            ui.label(words)
    if on_click is not None:
        element.on("click", lambda: on_click())


def felt(
    game: Game, names: Sequence[str], viewer: int | None, middle: Sequence[str] = (), own_hand: bool = True
) -> None:
    """The table from above: everybody around it, and in the middle the trick, or some words.

    Args:
        game: what is shown.
        names: by seat.
        viewer: the seat that looks, which sits at the bottom; None opens all hands, and seat 0 sits there.
        middle: words that stand there instead of the trick.
        own_hand: whether the viewer's hand is shown here too.
    """
    with ui.element("div").classes("felt"):
        with ui.element("div").classes("at text-center").style("left: 50%; top: 47%; width: 46%"):
            for line in middle:
                ui.label(line).classes("text-base")
            if not middle:
                ui.label(render.SYMBOLS.get(game.trump or "", "")).classes("text-5xl")
                ui.label("" if game.bid is None else f"bid {game.bid}").classes("text-amber-300")
        width = 196 if game.rules.players < 5 else 156
        for seat in range(game.rules.players):
            across, down = _direction(game, seat, viewer)
            panel = ui.element("div").classes("at seat acts" if seat == game.actor and not middle else "at seat")
            with panel.style(f"left: {50 + 37 * across}%; top: {50 + 36 * down}%; width: {width}px"):
                _seat(game, names, seat, viewer, own_hand)
        if not middle:
            _trick(game, viewer)


def _direction(game: Game, seat: int, viewer: int | None) -> tuple[float, float]:
    players = game.rules.players
    angle = math.tau * (0.25 + ((seat - (viewer or 0)) % players) / players)
    return math.cos(angle), math.sin(angle)


def _seat(game: Game, names: Sequence[str], seat: int, viewer: int | None, own_hand: bool) -> None:
    """Who sits there, with score, calls, tricks and cards."""
    team = game.rules.team_of(seat)
    tricks, points = render.taken(game, team)
    with ui.row().classes("justify-center items-center gap-0"):
        ui.label(names[seat]).classes("text-base font-bold")
        for mark, there in (("D", game.dealer), ("P", game.pitcher)):
            if seat == there:
                ui.label(mark).classes("mark").tooltip({"D": "dealer", "P": "pitcher"}[mark])
    side = f"team {team}: " if game.rules.pairs else "score "
    won = f" · {tricks} trick{'s' * (tricks > 1)}, {points} pts" if tricks else ""
    ui.label(f"{side}{game.scores[team]}{won}")
    exchanged = f"exchanged {game.exchanged[seat]}" if game.exchanged[seat] else ""
    said = " ".join([*render.calls_of(game, seat), exchanged]).strip()
    ui.label(said or "\N{NO-BREAK SPACE}").classes("text-amber-300")
    hand = render.shown_hand(game, seat, viewer)
    with ui.element("div").classes("cards"):
        if isinstance(hand, int):
            for _ in range(hand):
                ui.element("div").classes("card back")
        elif seat != viewer or own_hand:
            for text in hand:
                card(text, "small")


def _trick(game: Game, viewer: int | None) -> None:
    """The trick on the table, or as long as nothing is led the one before, in pale."""
    turned = render.last_trick(game)
    trick, winner = (game.trick, game.leading) if turned is None else (turned[1], turned[0])
    for seat, text in trick:
        across, down = _direction(game, seat, viewer)
        kind = f"{'wins' if seat == winner else ''} {'' if turned is None else 'pale'}"
        with ui.element("div").classes("at").style(f"left: {50 + 15 * across}%; top: {47 + 17 * down}%"):
            card(text, kind)


def opinion_bars(opinion: Opinion, most: int = 8) -> None:
    """What an agent would choose, and its probabilities as bars."""
    ui.label(opinion_words(opinion)).classes("text-sm mt-2")
    for action, share in opinion.probabilities[:most]:
        with ui.element("div").classes("share"):
            ui.label(action_symbol(action)).style("width: 62px")
            ui.element("div").classes("bar").style(f"width: {1 + 150 * share:.0f}px")
            ui.label(f"{share:.1%}")
