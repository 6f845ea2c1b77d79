"""Settings of model requests, of the service and of each agent."""

from __future__ import annotations

from typing import Literal

Effort = Literal["low", "medium", "high", "xhigh", "max"]
PromptPart = Literal["hints", "skills", "instructions", "listing", "memory", "todo", "date"]
"""Optional parts of a model's prompt."""

LEAST_CONTEXT = 4_000
"""Minimum size in tokens of a usable model request."""
