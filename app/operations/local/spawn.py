"""Starting one program, in a thread, with its limits set before its first instruction.

A shell of one line is started as leader of a new session. It waits for one line on its
standard input, `GATE_LINE`, while its limits are set from outside with `prlimit`, and then
becomes the program. So the limits hold from the start, in bytes rather than in a shell's
units, no code of ours runs between fork and exec (`preexec_fn` blocks the loop for 43 ms
in an 800 MB service), and a start that is given up never runs the program.

The working directory is opened beneath the workspace and reached as /proc/self/fd/N, which
the child resolves to the descriptor, not to a path somebody could swap. The descriptor
itself closes on exec.
"""

from __future__ import annotations

import os
import resource
import secrets
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import TollgateError, ToolFailed
from app.operations.local.beneath import Beneath
from app.operations.local.environment import check_argv, clean_environment
from app.operations.local.failures import failure
from app.operations.local.tree import MARKER, ProcessTree
from app.operations.protocols import ProcessLimits, ProcessSpec

GATE_LINE = b"\n"
_SHELL = "/bin/sh"
_GATE = 'IFS= read -r _ || exit 125; exec "$@"'


@dataclass(frozen=True, slots=True)
class Started:
    """A program that waits for `GATE_LINE` on `stdin`, its own input after it.

    Whoever gets it owns the descriptors and must reap `process`.
    """

    process: subprocess.Popen[bytes]
    tree: ProcessTree
    stdin: int
    stdout: int
    stderr: int


def start(beneath: Beneath, spec: ProcessSpec, private_tmp: str | None) -> Started:
    """Start `spec`; blocking.

    Raises:
        ToolFailed: `program_not_found`, `not_a_directory`, `invalid_command`,
            `invalid_environment`, `permission_denied`.
        OutsideWorkspace: for a `cwd` outside.
    """
    check_argv(spec.argv)
    home = private_tmp or beneath.root
    environment = clean_environment(home, spec.env, private_tmp)
    token = secrets.token_hex(16)
    with beneath.opened(spec.cwd, os.O_PATH | os.O_DIRECTORY) as folder:
        program = _find_program(spec.argv[0], folder, environment["PATH"])
        environment[MARKER] = token
        gate = _GATE if spec.stdin is not None else f"{_GATE} </dev/null"
        try:
            process = subprocess.Popen(  # noqa: S603 - argv goes in as arguments; no shell text is built
                [_SHELL, "-c", gate, "sh", program, *spec.argv[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=f"/proc/self/fd/{folder}",
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise _start_failure(error, spec) from None
    return _prepare(process, spec, token)


def _prepare(process: subprocess.Popen[bytes], spec: ProcessSpec, token: str) -> Started:
    """Set the limits while the shell waits."""
    pipes = [pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe]
    try:
        _limit(process.pid, spec.limits)
        stdin, stdout, stderr = (os.dup(pipe.fileno()) for pipe in pipes)
        tree = ProcessTree(process.pid, token)
    except OSError as error:
        process.kill()
        process.wait()
        raise _start_failure(error, spec) from None
    finally:
        for pipe in pipes:
            pipe.close()
    return Started(process, tree, stdin, stdout, stderr)


def _limit(pid: int, limits: ProcessLimits) -> None:
    wanted = {
        resource.RLIMIT_CPU: limits.cpu_s,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NPROC: limits.processes,
        resource.RLIMIT_DATA: limits.memory_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in wanted.items():
        if value is not None:
            _, hard = resource.prlimit(pid, kind)
            capped = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.prlimit(pid, kind, (capped, capped))


def _find_program(name: str, folder: int, search: str) -> str:
    """A path that never begins with a dash, as the shell's exec needs it."""
    if "/" not in name:
        absolute = os.pathsep.join(part for part in search.split(":") if part.startswith("/"))
        found = shutil.which(name, path=absolute)
        if found is None:
            raise _program_not_found(name)
        return found
    if not name.startswith(("/", ".")):
        name = f"./{name}"
    if not os.access(name, os.X_OK, dir_fd=folder):
        if os.access(name, os.F_OK, dir_fd=folder):
            raise ToolFailed(
                f"Program is not executable: {name!r}", code="permission_denied", path=name
            )
        raise _program_not_found(name)
    return name


def _program_not_found(name: str) -> ToolFailed:
    return ToolFailed(
        f"Program not found: {name!r}; install it or give its path",
        code="program_not_found",
        program=name,
    )


def _start_failure(error: OSError, spec: ProcessSpec) -> TollgateError:
    if not Path(_SHELL).exists():
        return _program_not_found(_SHELL)
    return failure(error, spec.argv[0])
