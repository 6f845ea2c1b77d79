"""What operators choose about model requests, in the service's settings and in each agent's."""

from __future__ import annotations

from typing import Literal

Effort = Literal["low", "medium", "high", "xhigh", "max"]
PromptPart = Literal["hints", "skills", "instructions", "listing", "memory", "todo", "date"]
"""Parts of what a model is told that can be left out."""

LEAST_CONTEXT = 4_000
"""Tokens below which no conversation can be held."""
