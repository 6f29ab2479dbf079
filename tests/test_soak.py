"""A short run of ``soak.py``."""

import pytest
import soak


def test_a_thousand_games(capsys: pytest.CaptureFixture[str]) -> None:
    soak.main(["--games", "1000", "--seed", "1"])
    output = capsys.readouterr().out
    assert "all is well" in output
    assert "20  games in full" in output
