"""The table in a browser, on this computer only: playing, agents' opinions, imagined hands, and records to look at."""

import json
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from nicegui import app, events, run, ui

from agents.opinions import action_symbol, opinion
from agents.table import Table
from agents.table_words import balances, result_words, told, trick_words
from agents.web_parts import CSS, card, felt, opinion_bars
from pitch_env import Game, render
from pitch_env.cards import CARD_ID
from pitch_env.record import Record, read, replay

HOST = "127.0.0.1"
IMAGINED = 3  # deals that are drawn for the panel
LINES = 12  # of what was done that are shown


def serve(
    table: Table,
    port: int,
    changed: Callable[[Table], None],
    records: Path | None = None,
    pace: float = 0.6,
    show: bool = True,
) -> None:
    """Serve the pages until Ctrl-C.

    Args:
        table: where the person sits.
        port: of this computer, where the pages are.
        changed: is told of the table when deals have ended or been taken back.
        records: a file of game records, for the page that replays them.
        pace: seconds between the actions of agents.
        show: whether a browser is opened.

    Raises:
        ValueError: the file holds what is no record.
        OSError: the port is taken, or the file cannot be read.
    """
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((HOST, port))
        except OSError as error:
            raise OSError(f"port {port} cannot be used ({error.strerror}); choose another with --port") from None
    found = list(read(records)) if records is not None else []
    playing = _Playing(table, changed)
    ui.page("/", title="Pitch")(playing.page)
    ui.page("/replay", title="Pitch: records")(lambda: _Replaying(playing, found).page())
    app.timer(pace, playing.agents_act)
    print(f"The table is at http://{HOST}:{port}/ ; Ctrl-C ends it.", flush=True)
    ui.run(host=HOST, port=port, show=show, reload=False, show_welcome_message=False, favicon="🃏")


def _head(here: str) -> None:
    """What both pages begin with."""
    ui.add_css(CSS)
    with ui.row().classes("items-baseline gap-4"):
        ui.label("Pitch").classes("text-2xl font-bold")
        for path, words in (("/", "play"), ("/replay", "records")):
            if path != here:
                ui.link(words, path)


class _Playing:
    """The page of the table."""

    def __init__(self, table: Table, changed: Callable[[Table], None]) -> None:
        self.table, self.changed = table, changed
        self.lines: list[str] = []  # what was done
        self.opinions = self.imagined = False  # what the panel shows
        self.thinking = False  # whether an agent is being asked

    # What happens.

    async def agents_act(self) -> None:
        """Let one agent act, if it is its turn."""
        table = self.table
        if self.thinking or table.yours or table.between or table.over:
            return
        self.thinking = True
        try:
            move = await run.io_bound(lambda: next(table.agents_moves(), None))
        finally:
            self.thinking = False
        self.happened([] if move is None else [move])

    def happened(self, moves: list) -> None:
        """Tell what was done, and show the table anew."""
        self.lines += told(self.table, moves)
        if any(move.deal for move in moves):
            try:
                self.changed(self.table)
            except (ValueError, OSError) as error:
                self.lines.append(f"this was not recorded: {error}")
        self.refresh()

    def do(self, action: Callable[[], Any]) -> None:
        """Do what a click asks for; say why where it cannot be."""
        if self.thinking:
            return
        try:
            action()
        except (ValueError, OSError) as error:
            ui.notify(self.table.named(str(error)), type="warning")
        self.refresh()

    def act(self, action: str) -> None:
        self.happened([self.table.act(action)])

    def undo(self) -> None:
        if not self.table.undo():
            raise ValueError("there is nothing to take back")
        self.lines.append("taken back")
        self.changed(self.table)

    def next_deal(self) -> None:
        table, who = self.table.wander()
        if table is self.table:
            table.next_deal()
        else:
            self.sit_at(table, f"{who}; a new game begins")

    def new_game(self) -> None:
        self.table.new_game()
        self.lines.append(f"a new game, seed {self.table.seed}")

    def sit_at(self, table: Table, words: str) -> None:
        self.table = table
        self.lines.append(words)

    def leave(self, name: str) -> None:
        self.sit_at(self.table.left(name)[0], f"{name} leaves; a new game begins")

    def join(self, name: str) -> None:
        table = self.table.joined(name)
        self.sit_at(table, f"{table.others[-1]} joins; a new game begins")

    async def load(self, event: events.UploadEventArguments) -> None:
        text = await event.file.text()
        self.do(lambda: self.sit_at(Table.from_dict(json.loads(text)), "a saved table"))

    # What is shown.

    def page(self) -> None:
        """The whole page; what changes are its view and its panel."""
        _head("/")
        with ui.row().classes("items-start gap-6"):
            with ui.column().classes("items-center gap-2").style("max-width: 840px"):
                self.view()
                self.show_buttons()
            with ui.column().classes("gap-1").style("width: 380px"):
                ui.switch("What the agents would do", value=self.opinions, on_change=self.set_opinions)
                ui.switch("Hands that the others may hold", value=self.imagined, on_change=self.set_imagined)
                self.panel()

    def set_opinions(self, event: events.ValueChangeEventArguments) -> None:
        self.opinions = event.value
        self.panel.refresh()

    def set_imagined(self, event: events.ValueChangeEventArguments) -> None:
        self.imagined = event.value
        self.panel.refresh()

    def refresh(self) -> None:
        self.view.refresh()
        self.panel.refresh()

    @ui.refreshable_method
    def view(self) -> None:
        """The table and what the person may do."""
        self.show_table()
        self.show_choices()
        if self.table.between:
            ui.button("Next deal", on_click=partial(self.do, self.next_deal)).props("no-caps")
        if self.table.ledger is not None:
            ui.label(f"money: {balances(self.table)}").classes("text-sm")
            self.show_comings()

    def show_table(self) -> None:
        table, game = self.table, self.table.game
        middle: list[str] = []
        if table.between or table.over:
            middle = [*result_words(table, table.results[-1])]
            if table.over:
                middle.append(table.named(render.turn(game)))
        else:
            ui.label(table.named(render.situation(game))).classes("text-sm")
        felt(game, table.names, table.seat, middle, own_hand=False)

    def show_choices(self) -> None:
        """The person's hand, in which the legal cards can be clicked, and what else may be done."""
        table, game = self.table, self.table.game
        if table.between or table.over:
            return
        legal = game.legal() if table.yours else []
        with ui.row().classes("gap-2").props('id="choices"'):
            for action in legal:
                if action not in CARD_ID:
                    words = f"{'bid ' if action.isdigit() else ''}{action_symbol(action)}"
                    ui.button(words, on_click=partial(self.do, partial(self.act, action))).props("no-caps")
        with ui.element("div").classes("cards").props('id="hand"').style("padding-top: 10px"):
            for text in render.in_order(game, game.hand(table.seat)):
                choose = partial(self.do, partial(self.act, text)) if text in legal else None
                card(text, "pale" if legal and not choose and game.phase == "play" else "", choose)

    def show_buttons(self) -> None:
        with ui.row().classes("gap-2"):
            for words, action in (
                ("Undo", self.undo),
                ("Last trick", self.last_trick),
                ("New game", self.new_game),
                ("Save", self.save),
            ):
                ui.button(words, on_click=partial(self.do, action)).props("flat no-caps")
            _upload_button("Load", ".json", self.load)

    def show_comings(self) -> None:
        """Who may come and go, between deals."""
        table = self.table
        if not (table.between or table.over):
            return
        with ui.row().classes("gap-2"):
            for name in dict.fromkeys(table.against):
                ui.button(f"{name} joins", on_click=partial(self.do, partial(self.join, name))).props(
                    "flat no-caps dense"
                )
            for name in table.others:
                ui.button(f"{name} leaves", on_click=partial(self.do, partial(self.leave, name))).props(
                    "flat no-caps dense"
                )

    def last_trick(self) -> None:
        trick = self.table.last_trick
        ui.notify("no trick has been taken yet" if trick is None else trick_words(self.table, trick))

    def save(self) -> None:
        ui.download.content(json.dumps(self.table.to_dict(), indent=1), "pitch-table.json")

    @ui.refreshable_method
    def panel(self) -> None:
        """What agents would do in the person's place, the hands that the others may hold, and what was done."""
        table = self.table
        if self.opinions and table.yours:
            for each in table.opinions():
                opinion_bars(each)
        if self.imagined and not (table.between or table.over):
            for deal in table.imagined(IMAGINED):
                with ui.column().classes("gap-0 mb-2"):
                    for seat in range(table.rules.players):
                        if seat != table.seat:
                            _show_hand(table.names[seat], deal, seat)
        for line in self.lines[-LINES:]:
            ui.label(line).classes("text-sm text-gray-700")


def _upload_button(words: str, kind: str, on_upload: Callable[[events.UploadEventArguments], Any]) -> None:
    """A button that lets one choose a file of a kind."""
    chooser = ui.upload(auto_upload=True, on_upload=on_upload).props(f"accept={kind}").classes("hidden")
    ui.button(words, on_click=lambda: chooser.run_method("pickFiles")).props("flat no-caps")


def _show_hand(name: str, game: Game, seat: int) -> None:
    with ui.row().classes("items-center gap-1"):
        ui.label(name).classes("text-sm").style("width: 88px")
        for text in render.in_order(game, game.hand(seat)):
            card(text, "small")


class _Replaying:
    """The page of records: a deal, a slider over its actions, all hands open."""

    def __init__(self, playing: _Playing, records: list[Record]) -> None:
        self.playing, self.records = playing, records
        self.deal = self.step = 0
        self.opinions = True
        self.games: list[Game] = []

    def page(self) -> None:
        """The whole page."""
        _head("/replay")
        _upload_button("Open a file of game records", ".jsonl", self.load)
        self.choose(0)
        self.view()

    async def load(self, event: events.UploadEventArguments) -> None:
        lines = (await event.file.text()).splitlines()
        try:
            self.records = [Record.from_json(line) for line in lines if line.strip()]
        except ValueError as error:
            ui.notify(f"{event.file.name}: {error}", type="warning")
            return
        self.choose(0)
        self.view.refresh()

    def choose(self, deal: int) -> None:
        """Turn to a deal."""
        self.deal, self.step = deal, 0
        self.games = list(replay(self.records[deal])) if self.records else []

    def turn(self, deal: int) -> None:
        self.choose(deal)
        self.view.refresh()

    def set_step(self, event: events.ValueChangeEventArguments) -> None:
        self.step = int(event.value)
        self.moment.refresh()

    def set_opinions(self, event: events.ValueChangeEventArguments) -> None:
        self.opinions = event.value
        self.moment.refresh()

    @ui.refreshable_method
    def view(self) -> None:
        """All that changes with the deal."""
        if not self.records:
            ui.label("There are no records here yet; pitch play --record FILE writes some.")
            return
        deals = {i: f"{i + 1}: deal {record.deal.number}" for i, record in enumerate(self.records)}
        with ui.row().classes("items-center gap-4").style("width: 820px"):
            ui.select(deals, value=self.deal, on_change=lambda event: self.turn(event.value))
            back = ui.button("\N{BLACK LEFT-POINTING TRIANGLE}").props("flat")
            slider = ui.slider(min=0, max=len(self.games) - 1, value=self.step, on_change=self.set_step)
            slider.style("flex: 1").props("label")
            back.on_click(lambda: slider.set_value(max(slider.value - 1, 0)))
            forth = ui.button("\N{BLACK RIGHT-POINTING TRIANGLE}").props("flat")
            forth.on_click(lambda: slider.set_value(min(slider.value + 1, len(self.games) - 1)))
        self.moment()

    @ui.refreshable_method
    def moment(self) -> None:
        """The table after so many actions, and what the agents think of it."""
        record, game = self.records[self.deal], self.games[self.step]
        names = [f"{seat.agent} ({place})" for place, seat in enumerate(record.seats)]
        done = ""
        if self.step:
            before = self.games[self.step - 1]
            done = f"{names[before.actor or 0]}: {action_symbol(record.actions[self.step - 1])}"
        middle = render.result_lines(game, game.last_deal) if game.last_deal and game.actor is None else []
        with ui.row().classes("items-start gap-6"):
            with ui.column().classes("gap-1"):
                ui.label(f"{self.step} of {len(record.actions)}. {done}").props('id="step"')
                felt(game, names, None, middle)
            with ui.column().style("width: 380px").classes("gap-1"):
                ui.switch("What the agents would do", value=self.opinions, on_change=self.set_opinions)
                if self.opinions and game.actor is not None:
                    self._show_opinions(game)

    def _show_opinions(self, game: Game) -> None:
        for agent in self.playing.table.agents:
            try:
                opinion_bars(opinion(agent, game, np.random.default_rng(self.step)))
            except ValueError as error:
                ui.label(f"{agent.name}: {error}").classes("text-sm")
