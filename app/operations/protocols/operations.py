"""What a call may act with."""

from __future__ import annotations

from dataclasses import dataclass

from app.operations.protocols.code import CodeOperations
from app.operations.protocols.files import FileOperations
from app.operations.protocols.processes import ProcessOperations
from app.operations.protocols.search import SearchOperations


@dataclass(frozen=True, slots=True)
class Operations:
    """The four together, bound to one workspace root.

    Attributes:
        roots: folders of it that alone can be reached, relative to it; empty for all of it.
    """

    root: str
    files: FileOperations
    search: SearchOperations
    processes: ProcessOperations
    code: CodeOperations
    roots: tuple[str, ...] = ()
