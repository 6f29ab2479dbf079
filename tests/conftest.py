"""Settings of all tests: Hypothesis tries the same examples in every run; PITCH_EXAMPLES=10 tries ten times as many."""

import os

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
