"""The report of a tournament: one HTML page that needs nothing else, its plots inside it."""

import base64
import html
import io
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from agents.intervals import Interval
from agents.tournament_result import ITEMS, Result, Standing, words

matplotlib.rcParams["svg.hashsalt"] = "pitch-env"  # the same result is the same file

INK, BLUE, GREY, RED = "#1f2933", "#2b6ca3", "#b8c2cc", "#b5453c"
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1f2933; max-width: 1040px; margin: 2.5em auto; padding: 0 1.5em }
h1 { font-size: 1.7em; margin-bottom: 0 } h2 { font-size: 1.2em; margin: 2em 0 .4em }
p { margin: .3em 0 1em; max-width: 46em } img { max-width: 100%; display: block }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap }
th, td { text-align: right; padding: .25em .8em; border-bottom: 1px solid #dde3e8 }
th:first-child, td:first-child { text-align: left } th { font-weight: 600; border-bottom: 2px solid #1f2933 }
.up { color: #1c6b3c } .down { color: #a3322a }
code { background: #f0f3f5; padding: .1em .3em; overflow-wrap: anywhere }
.small td, .small th { font-size: 14px; white-space: normal; text-align: left; vertical-align: top }
"""


def page(result: Result, content: dict[str, Any]) -> str:
    """The page.

    Args:
        result: what it tells.
        content: ``tournament_result.report`` of the same, for how it was made.
    """
    best = result.standings[0]
    sections = [
        ("Standings", _STANDINGS, _standings_table(result)),
        ("Ratings", _RATINGS, _picture(intervals_plot([(s.name, s.rating) for s in result.standings], "rating"))),
        ("Who beats whom", _CROSS, _picture(cross_plot(result))),
        (
            "Pairings",
            _PAIRINGS,
            _picture(intervals_plot(_pairings(result), "points per deal")) + _pairings_table(result),
        ),
        ("Bids", _BIDS, _picture(bids_plot(result.standings)) + _bids_table(result)),
        ("Who takes which point", _SHARES, _picture(shares_plot(result))),
        ("How it was made", "", _origin(content)),
    ]
    body = "\n".join(
        f"<h2>{title}</h2>\n{f'<p>{text}</p>' if text else ''}\n{content}" for title, text, content in sections
    )
    lead = (
        f"{len(result.standings)} agents, {result.deals:,} deals for each pairing. Most points per deal against the "
        f"field: <b>{html.escape(best.name)}</b>, {best.points.mean:+.3f} ± {best.points.half:.3f}."
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Pitch tournament</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<h1>Pitch tournament</h1>\n<p>{lead}</p>\n{body}\n</body>\n</html>\n"
    )


_STANDINGS = (
    "Points per deal: the mean of an agent's margins against all others. Pitched: the share of its deals in which the "
    "agent, or its partner, was the pitcher. Intervals are 95 %, over deals."
)
_RATINGS = (
    "By maximum likelihood from deals won, drawn and lost, on Elo's scale: 400 points are odds of ten to one, for one "
    "deal on all its tables. Zero is the mean of the field."
)
_CROSS = "Points per deal of the row against the column, at the same tables, with half the 95 % interval below."
_PAIRINGS = "Each pairing with its 95 % interval; grey where it holds zero. Won, drawn, lost: deals."
_BIDS = "How often an agent was the pitcher at each bid, of its deals: blue made, red set."
_SHARES = (
    "Of the times that a point was given to anybody at the agent's tables, how often its teams took it; in brackets "
    "the difference from what is due to the number of its teams."
)


# Plots.


def _picture(figure: Figure) -> str:
    """A figure as an element of the page."""
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    code = base64.b64encode(file.getvalue()).decode()
    alt = html.escape(str(figure.get_label()))
    return f'<img alt="{alt}" src="data:image/svg+xml;base64,{code}">'


def _axes(width: float, height: float, label: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained", label=label)
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _heat_map(
    values: np.ndarray, limit: float, texts: Sequence[Sequence[str]], rows: list[str], columns: list[str], label: str
) -> Figure:
    """Squares coloured from red, below zero, over white to blue, with a text in each; NaN stays grey."""
    width = 2.2 + 1.15 * len(columns)
    figure, axes = _axes(min(width, 14), 1.2 + 0.62 * len(rows), label)
    colours = matplotlib.colormaps["RdBu"].with_extremes(bad="#eef1f4")
    axes.imshow(values, cmap=colours, vmin=-limit, vmax=limit, aspect="auto")
    for row, column in np.ndindex(values.shape):
        dark = abs(values[row, column]) > 0.55 * limit
        axes.text(column, row, texts[row][column], ha="center", va="center", fontsize=9, color="white" if dark else INK)
    axes.set_xticks(range(len(columns)), columns, rotation=30 if max(map(len, columns)) > 11 else 0)
    axes.set_yticks(range(len(rows)), rows)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


def cross_plot(result: Result) -> Figure:
    """The cross table as a heat map."""
    names = [standing.name for standing in result.standings]
    margins = [[result.margin(first, second) for second in names] for first in names]
    values = np.array([[np.nan if margin is None else margin.mean for margin in row] for row in margins])
    texts = [["" if m is None else f"{m.mean:+.3f}\n±{m.half:.3f}" for m in row] for row in margins]
    return _heat_map(values, max(np.nanmax(np.abs(values)), 1e-9), texts, names, names, "cross table")


def shares_plot(result: Result) -> Figure:
    """Who takes which point, as a heat map of the difference from what is due."""
    names = [standing.name for standing in result.standings]
    items = [item for item in ITEMS if any(share.item == item for each in result.standings for share in each.shares)]
    values, texts = np.full((len(names), len(items)), np.nan), [[""] * len(items) for _ in names]
    for row, standing in enumerate(result.standings):
        for share in standing.shares:
            column = items.index(share.item)
            values[row, column] = share.taken / share.awarded - standing.even
            texts[row][column] = f"{share.taken / share.awarded:.1%}\n({values[row, column]:+.1%})"
    limit = max(np.nanmax(np.abs(values)), 0.01)
    return _heat_map(values, limit, texts, names, [words(item) for item in items], "shares of the points")


def intervals_plot(rows: Sequence[tuple[str, Interval]], quantity: str) -> Figure:
    """Points with their intervals, one a row, and zero as a line."""
    figure, axes = _axes(9, 0.9 + 0.32 * len(rows), quantity)
    for row, (_, found) in enumerate(rows):
        colour = GREY if found.low <= 0 <= found.high else BLUE
        axes.plot([found.low, found.high], [row, row], color=colour, linewidth=2.5, solid_capstyle="butt")
        axes.plot(found.mean, row, "o", color=colour, markersize=6)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x", color="#e3e8ec")
    axes.set_axisbelow(True)
    axes.set_xlabel(quantity)
    return figure


def _pairings(result: Result) -> list[tuple[str, Interval]]:
    return [(f"{pairing.first} : {pairing.second}", pairing.margin) for pairing in result.pairings]


def bids_plot(standings: Sequence[Standing]) -> Figure:
    """How often each bid was made and set, of all deals: one field an agent, all to the same scale."""
    bids = _bids(standings)
    across = min(4, len(standings))
    down = -(-len(standings) // across)
    figure = Figure(figsize=(max(4.5, 2.6 * across), 0.4 + 2.2 * down), layout="constrained", label="bids")
    fields = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
    for axes, standing in zip(fields, standings, strict=False):
        counts = {count.bid: count for count in standing.bids}
        total = sum(count.deals for count in standing.bids) / standing.pitched if standing.bids else 1
        made = np.array([counts[bid].made / total if bid in counts else 0 for bid in bids])
        tried = np.array([counts[bid].deals / total if bid in counts else 0 for bid in bids])
        axes.bar(bids, made, color=BLUE, label="made")
        axes.bar(bids, tried - made, bottom=made, color=RED, label="set")
        axes.set_title(standing.name, fontsize=11)
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.spines[["top", "right"]].set_visible(False)
    for axes in fields[len(standings) :]:
        axes.set_visible(False)
    fields[0].legend(frameon=False, fontsize=9)
    return figure


def _bids(standings: Sequence[Standing]) -> list[str]:
    """All bids that anybody made, from the lowest up."""
    found = {count.bid for standing in standings for count in standing.bids}
    return sorted(found, key=lambda bid: int(bid) if bid.isdecimal() else 99) or ["none"]


# Tables.


def _html_table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """A table of texts that are HTML already."""
    lines = ["<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    return f'<div class="wide"><table class="{kind}">\n' + "\n".join(lines) + "\n</table></div>"


def _signed(found: Interval, digits: int) -> tuple[str, str]:
    """An estimate, coloured where it is clear of zero, and its interval."""
    kind = "up" if found.low > 0 else "down" if found.high < 0 else ""
    mean = f'<span class="{kind}">{found.mean:+.{digits}f}</span>'
    return mean, f"{found.low:+.{digits}f} to {found.high:+.{digits}f}"


def _standings_table(result: Result) -> str:
    head = ["agent", "points per deal", "95 % interval", "rating", "95 % interval", "pitched", "made"]
    rows = [
        [
            html.escape(each.name),
            *_signed(each.points, 3),
            *_signed(each.rating, 0),
            f"{each.pitched:.1%}",
            "–" if each.made is None else f"{each.made:.1%}",
        ]
        for each in result.standings
    ]
    return _html_table(head, rows)


def _pairings_table(result: Result) -> str:
    head = ["pairing", "points per deal", "95 % interval", "deals", "won", "drawn", "lost"]
    rows = [
        [
            html.escape(f"{each.first} : {each.second}"),
            *_signed(each.margin, 3),
            *(f"{number:,}" for number in (each.deals, each.wins, each.draws, each.losses)),
        ]
        for each in result.pairings
    ]
    return _html_table(head, rows)


def _bids_table(result: Result) -> str:
    bids = _bids(result.standings)
    rows = []
    for each in result.standings:
        counts = {count.bid: count for count in each.bids}
        cells = [
            f"{counts[bid].made / counts[bid].deals:.0%} of {counts[bid].deals:,}" if bid in counts else "–"
            for bid in bids
        ]
        rows.append([html.escape(each.name), *cells])
    return _html_table(["made of tried, at", *bids], rows)


def _origin(content: dict[str, Any]) -> str:
    """What is needed to play the same again."""
    rows = [[name, f"<code>{html.escape(str(content[name]))}</code>"] for name in ("command", "git") if content[name]]
    rows += [[name, html.escape(str(content[name]))] for name in ("seed", "tables", "chunk", "deals", "until")]
    rows += [["versions", html.escape(", ".join(f"{name} {number}" for name, number in content["versions"].items()))]]
    rows += [["rules", html.escape(", ".join(f"{name} {value}" for name, value in content["rules"].items()))]]
    rows += [
        [
            f"agent {html.escape(player['name'])}",
            f"<code>{html.escape(player['source'])}</code> {player['fingerprint']}",
        ]
        for player in content["players"]
    ]
    return _html_table(["what", "value"], rows, "small")
