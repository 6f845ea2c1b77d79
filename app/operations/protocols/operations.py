"""Operations of a call."""

from __future__ import annotations

from dataclasses import dataclass

from app.operations.protocols.code import CodeOperations
from app.operations.protocols.files import FileOperations
from app.operations.protocols.processes import ProcessOperations
from app.operations.protocols.search import SearchOperations


@dataclass(frozen=True, slots=True)
class Operations:
    """The four kinds of operations, bound to one workspace root.

    Attributes:
        roots: reachable folders, relative to the root; empty for all.
    """

    root: str
    files: FileOperations
    search: SearchOperations
    processes: ProcessOperations
    code: CodeOperations
    roots: tuple[str, ...] = ()
