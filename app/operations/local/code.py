"""Refusal of Python without a sandbox."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from app.operations.process_errors import sandbox_unavailable
from app.operations.protocols.code import CodeSpec, RunningCode


class NoCode:
    """`CodeOperations` that refuses: a workspace without a sandbox runs no Python."""

    def open(self, spec: CodeSpec) -> AbstractAsyncContextManager[RunningCode]:
        raise sandbox_unavailable(
            f"Python ({spec.level}) cannot run here: this workspace has no sandbox"
        )
