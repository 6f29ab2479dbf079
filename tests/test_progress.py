"""What TensorBoard is given."""

from dataclasses import replace

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
from tensorboard.summary.writer.record_writer import RecordWriter

from agents import dmc, ppo
from tests.trainers import SMALL

SHORT = dict(total_decisions=2048, evaluate_deals=4, final_deals=4)
ALWAYS = {"loss", "gradient_norm", "learning_rate", "explained_variance", "pass_rate", "decisions_per_second"}
OF_PPO = {"policy_loss", "value_loss", "entropy", "kl", "clipped", "value_slope", "value_bias"}
OF_PPO |= {"entropy_weight_bids", "entropy_weight_cards"}


@pytest.mark.parametrize(
    ("learner", "options", "expected"),
    [
        (ppo, {}, ALWAYS | OF_PPO),
        (
            ppo,
            {"pool_share": 0.5, "reference_weight": 0.1},
            ALWAYS | OF_PPO | {"pool_size", "pool_games", "reference_kl"},
        ),
        (dmc, {}, ALWAYS | {"explored"}),
    ],
)
def test_curves_texts_and_intervals_are_written(learner, options, expected, tmp_path):
    names = {field: value for field, value in vars(SMALL).items() if field in learner.Config.__dataclass_fields__}
    config = learner.Config(
        **names | SHORT | options | {"learner": learner.__name__.split(".")[1], "out": str(tmp_path)}
    )
    learner.train(config)
    events = EventAccumulator(str(tmp_path)).Reload()
    scalars = set(events.Tags()["scalars"])
    assert {f"train/{name}" for name in expected} <= scalars
    assert any(tag.startswith("bids/") for tag in scalars)

    rows = events.Tensors("config/text_summary")[0].tensor_proto.string_val[0].decode().splitlines()
    assert f"| `learning_rate` | {config.learning_rate} |" in rows
    assert len(rows) == 2 + len(vars(config))
    assert b"torch" in events.Tensors("versions/text_summary")[0].tensor_proto.string_val[0]

    layout = Layout.FromString(events.Tensors("custom_scalars__config__")[0].tensor_proto.string_val[0])
    drawn = [each.margin.series[0] for each in layout.category[0].chart]
    assert [series.value for series in drawn] == [f"points_per_deal/{name}" for name in ("random", "greedy", "expert")]
    for series in drawn:
        assert {series.value, series.lower, series.upper} <= scalars


def test_charts_of_a_family_name_the_variant(tmp_path):
    ppo.train(replace(SMALL, rules=["auction", "money"], rule_options={"players": 3}, out=str(tmp_path), **SHORT))
    events = EventAccumulator(str(tmp_path)).Reload()
    assert "points_per_deal/money-3/expert/low" in events.Tags()["scalars"]
    layout = Layout.FromString(events.Tensors("custom_scalars__config__")[0].tensor_proto.string_val[0])
    assert [each.title for each in layout.category[0].chart][:1] == ["auction-3/random"]


def test_curves_that_cannot_be_written_end_a_run_with_one_clear_error(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RecordWriter, "write", full)  # TensorBoard's, which is called in a thread
    with pytest.raises(OSError, match=r"the curves in .*run could not be written: No space left on device; the last"):
        ppo.train(replace(SMALL, out=str(tmp_path / "run")))
