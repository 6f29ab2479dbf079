"""The weaknesses of an agent in sentences, each drawn from a figure on its card."""

from collections.abc import Iterator
from typing import Any

APART = 0.05  # from which a difference of two shares is worth a sentence
THEMES = 3  # of puzzles that are named


def weaknesses(card: dict[str, Any]) -> list[str]:
    """What the measurements of a card say against the agent; empty where they say nothing."""
    return [*_opponents(card), *_exploiters(card), *_kinds(card), *_bids(card), *_puzzles(card), *_scope(card)]


def points(match: dict[str, Any]) -> str:
    """A mean with its interval."""
    return f"{match['mean']:+.3f} ({match['low']:+.3f} to {match['high']:+.3f})"


def duration(hours: float) -> str:
    """Hours in words."""
    return f"{hours:.1f} hours" if hours >= 1 else f"{60 * hours:.1f} minutes"


def _opponents(card: dict[str, Any]) -> Iterator[str]:
    """Whom it does not beat; of two teams the other role is the same tables seen from the other side."""
    lost = [match for match in card["matches"] if match["high"] < 0]
    open_ = [match for match in card["matches"] if match["low"] <= 0 <= match["high"]]
    beaten_by = [match for match in card["as_opponent"] if match["low"] > 0 and card["teams"] > 2]
    for matches, role, words in (
        (lost, "opponent", "It loses to"),
        (open_, "opponent", "It is not clear of"),
        (beaten_by, "agent", "One opponent among agents like it wins from them:"),
    ):
        if matches:
            yield f"{words} {'; '.join(f'`{match[role]}`, {points(match)}' for match in matches)} points per deal."


def _exploiters(card: dict[str, Any]) -> Iterator[str]:
    if not card["exploiters"]:
        yield "No exploiter has been trained against it, so it is not known how much one would find."
    for found in card["exploiters"]:
        if found["match"]["low"] > 0:
            yield (
                f"An exploiter that began as {found['start']} and was trained against it for "
                f"{duration(found['hours'])} wins {points(found['match'])} points per deal from it."
            )


def _kinds(card: dict[str, Any]) -> Iterator[str]:
    gains = sorted((each for each in card["kinds"] if each["low"] > 0), key=lambda each: -each["mean"])
    for each in gains:
        yield (
            f"Its {each['kind']} cost it points: with those of `{each['by']}` in their place it wins {points(each)} "
            "points per deal from itself."
        )


def _bids(card: dict[str, Any]) -> Iterator[str]:
    """How it bids beside the last opponent, the strongest, at the same tables."""
    own, other = card["matches"][-1], card["as_opponent"][-1]
    if own["made"] is None or other["made"] is None:
        return
    if max(abs(own["pitched"] - other["pitched"]), abs(own["made"] - other["made"])) < APART:
        return
    name = own["opponent"]
    yield (
        f"Its bids differ from those of `{name}`: against it, it is the pitcher in {own['pitched']:.0%} of its deals "
        f"and makes {own['made']:.0%} of its bids; `{name}` against it in {other['pitched']:.0%} and "
        f"{other['made']:.0%}."
    )


def _puzzles(card: dict[str, Any]) -> Iterator[str]:
    themes = [(each["score"], name, each["puzzles"]) for name, each in card["puzzles"]["themes"].items()]
    worst = [f"{name} ({score:.0%} of {number})" for score, name, number in sorted(themes) if score < 1]
    if worst:
        yield f"Of the themes of the puzzles it is worst at {', '.join(worst[:THEMES])}."


def _scope(card: dict[str, Any]) -> Iterator[str]:
    if card["config"].get("deals", 1) == 1:
        yield "It learned single deals, each from scores of zero, and does not play to the score of a whole game."
