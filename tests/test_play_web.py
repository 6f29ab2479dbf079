"""The table in a browser: the pages are on this computer alone; a deal is played by clicks in headless Chromium."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nicegui")

import agents
from agents.cli import main
from pitch_env import record

ROOT = Path(__file__).parent.parent
BROWSER, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))
LIMIT = 60  # seconds that anything may take


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """Where the server keeps its records."""
    return tmp_path_factory.mktemp("web") / "games.jsonl"


@pytest.fixture(scope="module")
def address(file) -> Iterator[str]:
    """A server with a table; it must end by Ctrl-C as it should."""
    port = free_port()
    options = f"--web --no-browser --pace 50 --port {port} --against expert,auction --seed 3 --record {file}".split()
    replay = ["--replay", str(ROOT / "tests" / "cases" / "records.jsonl")]
    # NiceGUI does not serve where it finds pytest's mark.
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    server = subprocess.Popen(
        [sys.executable, "-m", "agents", "play", *options, *replay], cwd=file.parent, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    words = server.stdout.readline()
    assert f"http://127.0.0.1:{port}/" in words, words + server.stderr.read()
    limit = time.monotonic() + LIMIT
    while time.monotonic() < limit:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    server.send_signal(signal.SIGINT)
    _, errors = server.communicate(timeout=LIMIT)
    assert "Traceback" not in errors
    assert server.returncode in (0, 130)
    assert not list(file.parent.glob(".nicegui"))


def test_the_pages_are_on_this_computer_alone(address):
    for page in ("/", "/replay"):
        with urllib.request.urlopen(address + page, timeout=LIMIT) as answer:
            html = answer.read().decode()
        assert "expert" in html
        assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//(?!127\.0\.0\.1)""", html)
    with socket.socket() as trial:  # all of 127.0.0.0/8 is this computer, but the server listens on one address of it
        trial.settimeout(LIMIT)
        assert trial.connect_ex(("127.0.0.2", int(address.rsplit(":", 1)[1]))) != 0


def test_a_port_that_is_taken_is_named(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["play", "--web", "--no-browser", "--port", str(port), "--against", "greedy"]) == 1
    assert f"port {port} cannot be used" in capsys.readouterr().err


def test_without_nicegui_it_says_what_to_install(capsys, monkeypatch):
    for name in ("play_web", "web_parts"):
        monkeypatch.delitem(sys.modules, f"agents.{name}", raising=False)
        monkeypatch.delattr(agents, name, raising=False)
    monkeypatch.setitem(sys.modules, "nicegui", None)
    assert main(["play", "--web", "--against", "greedy"]) == 1
    assert "pip install 'pitch-env[web]'" in capsys.readouterr().err


class Page:
    """A browser at the server. Elements are found and clicked in one go, for the page may change at any moment."""

    def __init__(self, address: str) -> None:
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1320,980"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
        self.address = address

    def open(self, page: str) -> None:
        self.driver.get(self.address + page)

    def run(self, script: str):
        return self.driver.execute_script(script)

    def wait(self, script: str):
        """What a script returns as soon as that is something."""
        limit = time.monotonic() + LIMIT
        while not (found := self.run(script)):
            assert time.monotonic() < limit, f"{script}\n{self.text()}"
            time.sleep(0.1)
        return found

    def text(self) -> str:
        return self.run("return document.body.innerText")

    def click(self, words: str) -> None:
        """Click the button or the switch with these words."""
        self.wait(
            "const all = [...document.querySelectorAll('button, .q-toggle')];"
            f"const found = all.find(e => e.innerText.trim().toLowerCase() === {words.lower()!r});"
            "if (found) found.click(); return Boolean(found)"
        )


@pytest.fixture(scope="module")
def page(address) -> Iterator[Page]:
    if BROWSER is None or DRIVER is None:
        pytest.skip("no chromium and chromedriver; install them to test the pages in a browser")
    pytest.importorskip("selenium")
    page = Page(address)
    yield page
    page.driver.quit()


CHOICES = "document.querySelectorAll('#choices button, button.card')"
OVER = "[...document.querySelectorAll('button')].some(e => e.innerText.trim() === 'Next deal')"
ACT = f"""
if ({OVER}) return 'over';
const choices = {CHOICES};
if (choices.length === 0) return '';
const words = choices[choices.length - 1].innerText; choices[choices.length - 1].click(); return words"""


def click_on(page: Page) -> list[str]:
    """Click the last choice until the deal is over; what was clicked. A click takes a while to the server and back."""
    clicked: list[str] = []
    while True:
        page.wait(f"return {OVER} || {CHOICES}.length > 0")
        before = page.text()
        if (words := page.wait(ACT)) == "over":
            return clicked
        clicked.append(words)
        page.wait(f"return document.body.innerText !== {json.dumps(before)}")


def test_a_deal_is_played_by_clicks(page, file):
    page.open("/")
    page.wait(f"return {CHOICES}.length")
    page.click("What the agents would do")
    page.wait("return document.querySelectorAll('.share .bar').length")
    assert "auction would choose" in page.text()
    assert "expert would choose" in page.text()
    page.click("Hands that the others may hold")
    page.wait("return document.querySelectorAll('.card.small').length >= 3 * 3 * 5")
    assert page.run("return document.querySelectorAll('#hand .card').length") == 6
    assert 7 <= len(click_on(page)) <= 20  # a bid, six cards, and what came too early
    assert re.search(r"bid \w+ and (made it|w\w+ set)", page.text())
    (kept,) = record.read(file)
    assert [seat.agent for seat in kept.seats] == ["you", "expert", "auction", "auction"]
    assert kept.result is not None
    page.click("Undo")
    page.wait(f"return {CHOICES}.length")
    assert list(record.read(file)) == []
    click_on(page)
    page.click("Next deal")
    page.wait("return document.body.innerText.includes('deal 2')")
    page.click("Last trick")
    page.wait("return document.body.innerText.includes('wins') || document.body.innerText.includes('win')")
    page.click("New game")
    page.wait("return document.body.innerText.includes('seed 4')")


def test_a_record_is_looked_at_with_the_slider(page):
    page.open("/replay")
    page.wait("return document.getElementById('step')")
    first = page.run("return document.getElementById('step').innerText")
    assert first.startswith("0 of ")
    hands = page.run("return document.querySelectorAll('.seat .card.small').length")
    assert hands >= 12
    page.click("▶")
    page.wait("return document.getElementById('step').innerText.startsWith('1 of ')")
    from selenium.webdriver.common.keys import Keys

    page.driver.find_element("css selector", ".q-slider__focus-ring, .q-slider").click()
    page.driver.switch_to.active_element.send_keys(Keys.END)
    last = int(first.split()[2].strip("."))
    page.wait(f"return parseInt(document.getElementById('step').innerText) > {last // 3}")


def test_the_browser_asked_nobody_else_and_complained_of_nothing(page):
    for path in ("/", "/replay"):
        page.open(path)
        page.wait("return document.querySelector('.felt')")
        asked = page.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
        assert asked
        assert all(name.startswith((page.address, "data:", "blob:")) for name in asked)
    assert [entry for entry in page.driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_the_picture_shows_a_table(page, tmp_path):
    import numpy as np
    from PIL import Image

    page.open("/")
    page.wait("return document.querySelector('.felt')")
    page.driver.save_screenshot(str(tmp_path / "page.png"))
    pixels = np.array(Image.open(tmp_path / "page.png").convert("RGB")).reshape(-1, 3)
    felt = (np.abs(pixels.astype(int) - (29, 105, 66)) < 12).all(1).mean()
    assert 0.1 < felt < 0.6
