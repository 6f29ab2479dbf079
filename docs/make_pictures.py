"""Make the pictures of the documentation: python docs/make_pictures.py [table] [curves] [cross] [web] [--out DIR]

All of them if none is named. ``curves`` trains for about a minute, or draws the run in ``--run DIR``; ``web`` takes
Chromium and its driver, and is left as it is where they are not installed.
"""

import argparse
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

DOCS = Path(__file__).parent
ROOT = DOCS.parent

CLICK = """
const found = [...document.querySelectorAll('.q-toggle')].find(e => e.innerText.trim() === '{0}');
if (found) found.click(); return Boolean(found)"""
# Each is run again until it is true: show what the agents think, and play until there is a choice of cards.
SCRIPTS = (
    CLICK.format("What the agents would do"),
    CLICK.format("Hands that the others may hold"),
    """
    const choices = document.querySelectorAll('#choices button, button.card');
    if (choices.length === 0) return false;
    if (document.querySelectorAll('#hand .card').length < 6 && choices.length > 1)
        return document.querySelectorAll('.share .bar').length > 0;
    choices[0].click(); return false""",
)
COLOURS = 64  # of a picture: flat colours need no more, and the files stay small
FIELD = ("random", "greedy", "cautious", "bold", "memoryless", "expert", str(ROOT / "checkpoints" / "auction"))


def save(picture: Image.Image, file: Path) -> None:
    """Write a PNG of few colours."""
    picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


def make_table(file: Path, run: str | None) -> None:
    """Six experts in the middle of a deal of Oklahoma Pitch, as ``render_mode="rgb_array"`` shows it."""
    from agents import load
    from pitch_env import pitch_v0

    env, expert = pitch_v0.env(rules="oklahoma", players=6, render_mode="rgb_array"), load("expert")
    env.reset(seed=11)
    rng = np.random.default_rng(0)
    while len(env.game.tricks) < 2 or len(env.game.trick) < 4:
        seen = env.observe(env.agent_selection)
        batch = (seen["observation"][None].astype(np.uint8), seen["action_mask"][None])
        env.step(int(expert.act(*batch, rng)[0]))
    save(Image.fromarray(env.render()), file)


def make_curves(file: Path, run: str | None) -> None:
    """What TensorBoard would show of a run."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with tempfile.TemporaryDirectory() as folder:
        if run is None:
            command = [
                "train.py",
                "--config",
                "configs/smoke.yaml",
                "--evaluate-seconds",
                "1",
                "--out",
                folder + "/run",
            ]
            subprocess.run([sys.executable, *command], cwd=ROOT, check=True)
            run = folder + "/run"
        events = EventAccumulator(run)
        events.Reload()
    names = {
        "points per deal against": [name for name in events.Tags()["scalars"] if name.startswith("points_per_deal/")],
        "entropy of the policy": ["train/entropy"],
        "share of deals pitched at": sorted(name for name in events.Tags()["scalars"] if name.startswith("bids/")),
    }
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for axis, (title, scalars) in zip(axes, names.items(), strict=True):
        for name in scalars:
            found = events.Scalars(name)
            label = name.split("/")[1].replace("_", " ")
            axis.plot([each.step / 1000 for each in found], [each.value for each in found], label=label)
        axis.set_title(title)
        axis.set_xlabel("thousand decisions")
        axis.grid(alpha=0.3)
        if len(scalars) > 1:
            axis.legend(frameon=False)
    axes[0].axhline(0, color="black", linewidth=0.8)
    save_figure(figure, file)


def make_cross(file: Path, run: str | None) -> None:
    """The cross table of a small tournament, as in its report."""
    from agents.tournament import Tournament
    from agents.tournament_report import cross_plot
    from agents.tournament_result import result_of
    from agents.tournament_run import play
    from pitch_env import Rules

    tournament = Tournament.between(FIELD, Rules.preset("auction"))
    save_figure(cross_plot(result_of(tournament, play(tournament, 1024))), file)


def save_figure(figure: object, file: Path) -> None:
    """Draw with Matplotlib, and keep the small file."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder) / "figure.png"
        figure.savefig(drawn, dpi=100)  # type: ignore[attr-defined]
        save(Image.open(drawn), file)


def make_web(file: Path, run: str | None) -> None:
    """``pitch play --web`` in headless Chromium, with the agents' opinions shown."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        print(f"{file.name} is left as it is: Chromium and its driver are not installed")
        return
    from selenium import webdriver

    port = free_port()
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1320,980"):
        options.add_argument(argument)
    command = f"-m agents play --web --no-browser --pace 50 --port {port} --against expert,auction --seed 3"
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen([sys.executable, *command.split()], cwd=folder)
        page = webdriver.Chrome(options, webdriver.ChromeService(driver))
        try:
            open_page(page, port)
            page.save_screenshot(folder + "/page.png")
            save(Image.open(folder + "/page.png"), file)
        finally:
            page.quit()
            server.send_signal(signal.SIGINT)
            server.wait(30)


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def open_page(page, port: int) -> None:  # type: ignore[no-untyped-def]
    """Wait for the server, bid until the play, and show what the agents think."""
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.2)
    page.get(f"http://127.0.0.1:{port}/")
    for script in SCRIPTS:
        while not page.execute_script(script):
            if time.monotonic() > limit:
                raise TimeoutError(f"the page did not get so far: {script}")
            time.sleep(0.2)
    time.sleep(2)


PICTURES = {"table": make_table, "curves": make_curves, "cross": make_cross, "web": make_web}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", nargs="*", choices=[*PICTURES, []], default=[], help="which (default: all)")
    parser.add_argument("--out", type=Path, default=DOCS / "pictures", help="the folder (default: docs/pictures)")
    parser.add_argument("--run", help="the folder of a training run, for the curves")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.pictures or PICTURES:
        PICTURES[name](options.out / f"{name}.png", options.run)


if __name__ == "__main__":
    main()
