"""All in-memory operations together."""

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
    """Return operations on a workspace that contains `files`; text is encoded as UTF-8.

    Args:
        script: output and exit of a started program.
        code: results of Python code; nothing runs by default.
        clock: source of modification times.
        roots: reachable folders; `files` are added in any case.
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
