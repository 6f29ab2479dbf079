"""Players of Pitch: rule-based baselines, self-play learners, and the means to measure them."""

from agents.agent import Agent, load

__all__ = ["Agent", "load"]
