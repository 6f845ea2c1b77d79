"""The operations in memory, together."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.clock import Clock, SystemClock
from app.operations.fakes.code import FakeCode
from app.operations.fakes.files import ROOT, FakeFiles, FakeTree
from app.operations.fakes.processes import FakeProcesses, Script, no_programs
from app.operations.fakes.search import FakeSearch
from app.operations.protocols.code import CodeOperations
from app.operations.protocols.operations import Operations


def fake_workspace(
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
    tree = FakeTree(clock or SystemClock())
    tree.fill(files or {})
    tree.roots = roots
    return Operations(
        root=ROOT,
        files=FakeFiles(tree),
        search=FakeSearch(tree),
        processes=FakeProcesses(tree, script),
        code=code or FakeCode(),
        roots=roots,
    )
