"""Settings of all tests: Hypothesis tries the same examples in every run; PITCH_EXAMPLES=10 tries ten times as many."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "pitch",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=100 * int(os.environ.get("PITCH_EXAMPLES", "1")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("pitch")


@pytest.fixture
def one_torch_thread(monkeypatch):
    """The networks are so small that on a busy machine threads wait for each other longer than they work."""
    import torch  # pitch_env is tested without it

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    yield
    torch.set_num_threads(threads)
