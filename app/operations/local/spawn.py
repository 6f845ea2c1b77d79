"""Start of one program, in a thread, with its limits set before its first instruction.

A one-line shell is started as leader of a new session. It waits for one line on its standard input
while its limits are set from outside with `prlimit`, and then becomes the program; on a terminal it
first opens that, which makes it the session's own. So the limits apply from the start, in bytes
rather than a shell's units, none of our code runs between fork and exec (`preexec_fn` blocks the
loop for 43 ms in an 800 MB service), and a cancelled start never runs the program.

The working directory is opened beneath the workspace and reached as /proc/self/fd/N, which the
child resolves to the descriptor, not to a path that could be swapped. The descriptor itself closes
on exec.
"""

from __future__ import annotations

import os
import resource
import secrets
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import TollgateError, ToolFailed
from app.operations.local.beneath import Beneath
from app.operations.local.environment import TERMINAL_TYPE, check_argv, clean_environment
from app.operations.local.failures import failure
from app.operations.local.piped_process import Pipes
from app.operations.local.terminal import open_terminal
from app.operations.local.tree import MARKER, ProcessTree
from app.operations.process_errors import program_not_found
from app.operations.protocols.processes import ProcessLimits, ProcessSpec, Terminal

_SHELL = "/bin/sh"
_WAIT = "IFS= read -r _ || exit 125; "
_EXEC = 'exec "$@"'
_EXEC_WITHOUT_INPUT = 'exec "$@" </dev/null'
# opening its terminal is how a session leader makes it the controlling one
_EXEC_ON_TERMINAL = 'tty=$1; shift; exec "$@" <>"$tty" >&0 2>&0'


@dataclass(frozen=True, slots=True)
class Started:
    """Started program that waits for its release.

    The caller owns the descriptors and must reap `process`.
    """

    process: subprocess.Popen[bytes]
    tree: ProcessTree
    gate: int
    pipes: Pipes

    def let_go(self) -> None:
        """Release the program."""
        with suppress(OSError):  # it was killed meanwhile
            os.write(self.gate, b"\n")
        os.close(self.gate)

    def give_up(self) -> None:
        """Cancel the start: the program never runs."""
        os.close(self.gate)


def start(beneath: Beneath, spec: ProcessSpec, private_tmp: str | None) -> Started:
    """Start `spec`; blocks.

    Raises:
        ToolFailed: `program_not_found`, `not_a_directory`, `invalid_command`,
            `invalid_environment`, `permission_denied`.
        OutsideWorkspace: for a `cwd` outside.
    """
    check_argv(spec.argv)
    home = private_tmp or beneath.root
    environment = clean_environment(home, spec.env, private_tmp)
    token = secrets.token_hex(16)
    with beneath.opened(beneath.start(spec.cwd), os.O_PATH | os.O_DIRECTORY) as folder:
        program = find_program(spec.argv[0], folder, environment["PATH"])
        environment[MARKER] = token
        command = [program, *spec.argv[1:]]
        try:
            if spec.terminal is None:
                process = _popen(_gate(spec), command, folder, environment)
                return _prepare(process, spec, token)
            environment["TERM"] = spec.env.get("TERM", TERMINAL_TYPE)
            return _start_on_terminal(spec, spec.terminal, command, folder, environment, token)
        except OSError as error:
            raise _start_failure(error, spec) from None


def _gate(spec: ProcessSpec) -> str:
    has_input = spec.stdin is not None or spec.interactive
    return _WAIT + (_EXEC if has_input else _EXEC_WITHOUT_INPUT)


def _start_on_terminal(
    spec: ProcessSpec,
    terminal: Terminal,
    command: list[str],
    folder: int,
    environment: dict[str, str],
    token: str,
) -> Started:
    ours, theirs, name = open_terminal(terminal)
    try:
        process = _popen(_WAIT + _EXEC_ON_TERMINAL, [name, *command], folder, environment, theirs)
        return _prepare(process, spec, token, ours)
    finally:
        os.close(theirs)
        os.close(ours)


def _popen(
    gate: str,
    command: list[str],
    folder: int,
    environment: dict[str, str],
    output: int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - argv goes in as arguments; no shell text is built
        [_SHELL, "-c", gate, "sh", *command],
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        bufsize=0,
        cwd=f"/proc/self/fd/{folder}",
        env=environment,
        start_new_session=True,
    )


def _prepare(
    process: subprocess.Popen[bytes], spec: ProcessSpec, token: str, terminal: int | None = None
) -> Started:
    """Set the limits while the shell waits."""
    held: list[int] = []

    def own(descriptor: int) -> int:
        held.append(os.dup(descriptor))
        return held[-1]

    files = [file for file in (process.stdin, process.stdout, process.stderr) if file]
    try:
        _limit(process.pid, spec.limits)
        tree = ProcessTree(process.pid, token)
        gate = own(files[0].fileno())
        if terminal is None:
            pipes = Pipes(*(own(file.fileno()) for file in files))
        else:
            pipes = Pipes(own(terminal), own(terminal), None)
    except OSError:
        for descriptor in held:
            os.close(descriptor)
        process.kill()
        process.wait()
        raise
    finally:
        for file in files:
            file.close()
    return Started(process, tree, gate, pipes)


def _limit(pid: int, limits: ProcessLimits) -> None:
    wanted = {
        resource.RLIMIT_CPU: limits.cpu_s,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_DATA: limits.memory_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in wanted.items():
        if value is not None:
            _, hard = resource.prlimit(pid, kind)
            capped = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.prlimit(pid, kind, (capped, capped))


def find_program(name: str, folder: int, search: str) -> str:
    """Return a path that never begins with a dash, as the shell's exec requires."""
    if "/" not in name:
        absolute = os.pathsep.join(part for part in search.split(":") if part.startswith("/"))
        found = shutil.which(name, path=absolute)
        if found is None:
            raise program_not_found(name)
        return found
    if not name.startswith(("/", ".")):
        name = f"./{name}"
    if not os.access(name, os.X_OK, dir_fd=folder):
        if os.access(name, os.F_OK, dir_fd=folder):
            raise ToolFailed(
                f"Program is not executable: {name!r}", code="permission_denied", path=name
            )
        raise program_not_found(name)
    return name


def _start_failure(error: OSError, spec: ProcessSpec) -> TollgateError:
    if not Path(_SHELL).exists():
        return program_not_found(_SHELL)
    return failure(error, spec.argv[0])
