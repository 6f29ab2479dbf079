"""The learning curve of a run: its numbers from TensorBoard's files, and a picture of them."""

import io
from pathlib import Path
from typing import Any

MOST = 100  # places that are kept of a curve
MATCHES = "points_per_deal/"
TRAINING = ("entropy", "pass_rate", "explained_variance")
COLOURS = 64  # of the picture: flat colours need no more, and the file stays small


def read(folder: Path) -> dict[str, Any] | None:
    """The curve in the event files of a run.

    Returns:
        ``points_per_deal``: by opponent a list of [decisions, mean, low, high], the 95 % interval of the matches on the
        way; ``training``: by name a list of [decisions, value]. Of long runs each has 100 places, evenly spread, the
        first and the last among them. None where there are no event files.

    Raises:
        ValueError: there are some, but no matches in them.
    """
    if not any(folder.glob("events.out.tfevents.*")):
        return None
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})  # all of them
    events.Reload()
    series = {tag: {each.step: each.value for each in events.Scalars(tag)} for tag in events.Tags()["scalars"]}
    means = [tag for tag in series if tag.startswith(MATCHES) and f"{tag}/low" in series and f"{tag}/high" in series]
    if not means:
        raise ValueError(f"the event files in {folder} hold no matches of a run, or are damaged")
    return {
        "points_per_deal": {
            tag.removeprefix(MATCHES): _places([series[tag], series[f"{tag}/low"], series[f"{tag}/high"]])
            for tag in means
        },
        "training": {name: _places([series[f"train/{name}"]]) for name in TRAINING if f"train/{name}" in series},
    }


def _places(values: list[dict[int, float]]) -> list[list[float]]:
    """Rows of a step and the values at it, at most MOST."""
    steps = sorted(set.intersection(*(set(each) for each in values)))
    return _thinned([[step, *(round(each[step], 4) for each in values)] for step in steps])


def _thinned(rows: list[list[float]]) -> list[list[float]]:
    count = min(MOST, len(rows))
    return [rows[round(place * (len(rows) - 1) / max(1, count - 1))] for place in range(count)]


def joined(first: dict[str, Any], last: dict[str, Any], before: int) -> dict[str, Any]:
    """The curve of a run that went on as another one after ``before`` decisions; each with at most MOST places."""
    return last | {
        part: {
            name: _thinned(
                first[part].get(name, []) + [[before + step, *rest] for step, *rest in last[part].get(name, [])]
            )
            for name in first[part] | last[part]
        }
        for part in ("points_per_deal", "training")
    }


def picture(curve: dict[str, Any]) -> bytes:
    """A PNG of what ``read`` gives."""
    from matplotlib.figure import Figure
    from PIL import Image

    figure = Figure(figsize=(11, 3.4), layout="constrained")
    points, entropy, rest = figure.subplots(1, 3, width_ratios=(2, 1, 1))
    for name, places in curve["points_per_deal"].items():
        decisions, mean, low, high = zip(*places, strict=True)
        (line,) = points.plot(_millions(decisions), mean, label=name)
        points.fill_between(_millions(decisions), low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    points.axhline(0, color="black", linewidth=0.8)
    points.set_title("points per deal, with the 95 % interval, against")
    for axes, names in ((entropy, TRAINING[:1]), (rest, TRAINING[1:])):
        for name in names:
            if places := curve["training"].get(name):
                decisions, values = zip(*places, strict=True)
                axes.plot(_millions(decisions), values, label=name.replace("_", " "))
    entropy.set_title("entropy of the policy")
    rest.set_title("bidding and the critic")
    for axes in (points, entropy, rest):
        axes.set_xlabel("million decisions")
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0] and axes is not entropy:
            axes.legend(frameon=False)
    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, dpi=100)
    image = Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(small, "PNG", optimize=True)
    return small.getvalue()


def _millions(decisions: tuple[float, ...]) -> list[float]:
    return [each / 1e6 for each in decisions]
