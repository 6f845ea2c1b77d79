"""Errors of processes shared by all implementations."""

from __future__ import annotations

from app.core.errors import ToolFailed


def input_closed() -> ToolFailed:
    return ToolFailed(
        "The process accepts no input: it was not started interactively, its input "
        "was closed, or it has ended",
        code="input_closed",
    )


def program_not_found(name: str) -> ToolFailed:
    return ToolFailed(
        f"Program not found: {name!r}; install it or give its path",
        code="program_not_found",
        program=name,
    )


def sandbox_unavailable(message: str) -> ToolFailed:
    return ToolFailed(message, code="sandbox_unavailable")
