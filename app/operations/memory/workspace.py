"""The operations in memory, together."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.clock import Clock, SystemClock
from app.operations.memory.code import MemoryCode
from app.operations.memory.files import ROOT, MemoryFiles, MemoryTree
from app.operations.memory.processes import MemoryProcesses, Script, no_programs
from app.operations.memory.search import MemorySearch
from app.operations.protocols.code import CodeOperations
from app.operations.protocols.operations import Operations


def memory_workspace(
    files: Mapping[str, bytes | str] | None = None,
    *,
    script: Script = no_programs,
    code: CodeOperations | None = None,
    clock: Clock | None = None,
    roots: tuple[str, ...] = (),
) -> Operations:
    """Operations on a workspace that holds `files`, text as UTF-8.

    Args:
        script: what a started program prints and how it ends.
        code: what Python answers; nothing runs by default.
        clock: where modification times come from.
        roots: folders that alone can be reached then; `files` are put in all the same.
    """
    tree = MemoryTree(clock or SystemClock())
    tree.fill(files or {})
    tree.roots = roots
    return Operations(
        root=ROOT,
        files=MemoryFiles(tree),
        search=MemorySearch(tree),
        processes=MemoryProcesses(tree, script),
        code=code or MemoryCode(),
        roots=roots,
    )
