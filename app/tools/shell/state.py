"""State that a session's shell passes on to the next one: its directory and exported variables.

The shell prints both after its output, between two unguessable marks. They are validated like any
input, because the command may have written them.
"""

from __future__ import annotations

import posixpath
import re
import secrets
from dataclasses import dataclass

from app.domain.processes import ShellState

MAX_VARIABLES = 64
MAX_VALUE = 8 << 10
MAX_VALUES = 32 << 10
MAX_RECORD = 256 << 10

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
# Not saved: variables set by the service or the shell for every call.
_OWN = re.compile(
    r"HOME|LANG|LOGNAME|OLDPWD|PATH|PWD|SHELL|SHLVL|TERM|TMPDIR|TZ|USER|_|COLUMNS|LINES"
)
# Variables that make a shell or common program load code or other settings: they would affect
# commands classified without them.
_NEVER = re.compile(
    r"ANTHROPIC_.*|BASH.*|BROWSER|CARGO_.*|CDPATH|CFLAGS|CLASSPATH|CURL_HOME|CXX|CC|DENO_.*|DOCKER_.*|"
    r"DYLD_.*|EDITOR|ELECTRON_.*|EMACS.*|ENV|EXECIGNORE|FCEDIT|FIGNORE|FPATH|GCONV_PATH|GIO_.*|"
    r"GIT_.*|GLOBIGNORE|GO(?:BIN|DEBUG|ENV|FLAGS|PATH|PROXY|ROOT|TOOLCHAIN|VCS|WORK)|GRADLE_.*|GTK_.*|HELM_.*|HIST.*|HOSTALIASES|IFS|INPUTRC|JAVA_.*|"
    r"_JAVA_.*|JDK_.*|KUBE.*|LD|LD_.*|LESS.*|LIBPATH|LIB_.*|LOCALDOMAIN|LOCPATH|LUA_.*|MAIL.*|MAKE.*|"
    r"MALLOC_.*|MANPAGER|MANPATH|MAVEN_.*|NLSPATH|NODE_.*|NPM_.*|npm_.*|NULLCMD|OPENAI_.*|OPENSSL_.*|OPTERR|"
    r"PAGER|PERL.*|PHP.*|PIP_.*|POSIXLY_CORRECT|PROMPT.*|PS[0-9]|PSQL.*|PYTHON.*|QT_.*|READNULLCMD|"
    r"RES_OPTIONS|RSYNC_.*|RUBY.*|RUSTC.*|RUSTUP_.*|R_.*|SHELLOPTS|SHLIB_.*|SSH_.*|SSL_.*|SUDO_.*|"
    r"SYSTEMD_.*|TAR_OPTIONS|TERMCAP|TERMINFO.*|TIMEFORMAT|TMOUT|TOLLGATE_.*|UV_.*|VIM.*|VIRTUAL_ENV|"
    r"VISUAL|XDG_.*|XAUTHORITY|ZDOTDIR|_tollgate.*"
)

_SCRIPT = r"""exec 19>&1
_tollgate_keep() {
  local _tollgate_name
  local -a _tollgate_names
  builtin mapfile -t _tollgate_names < <(builtin compgen -e)
  {
    builtin printf '\0%s\0' 'TOKEN'
    builtin pwd -P
    for _tollgate_name in "${_tollgate_names[@]}"; do
      builtin printf '\0%s=%s' "$_tollgate_name" "${!_tollgate_name-}"
    done
    builtin printf '\0%s\0' 'TOKEN'
  } >&19 2>/dev/null
}
trap _tollgate_keep EXIT
_tollgate_command=$1
set --
eval "$_tollgate_command"
"""


class StateTap:
    """`OutputTap` that removes the state record from a shell's output."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(16)
        self._mark = b"\0" + self._token.encode() + b"\0"
        self._held = b""
        self._record: bytearray | None = None
        self.record: bytes | None = None

    @property
    def script(self) -> str:
        """Return a script that runs its first argument and finally prints its state."""
        return _SCRIPT.replace("TOKEN", self._token)

    def feed(self, data: bytes) -> bytes:
        data, self._held = self._held + data, b""
        seen = b""
        while data:
            at = data.find(self._mark)
            part, rest = (data, b"") if at < 0 else (data[:at], data[at + len(self._mark) :])
            if at < 0:
                held = self._beginning(part)
                part, self._held = part[: len(part) - held], part[len(part) - held :]
            seen += self._outside(part, found=at >= 0)
            data = rest
        return seen

    def finish(self) -> bytes:
        held, self._held = self._held, b""
        return b"" if self._record is not None else held

    def _outside(self, part: bytes, *, found: bool) -> bytes:
        """Return `part` if it is not a record; otherwise collect it."""
        if self._record is None:
            if found:
                self._record = bytearray()
            return part
        if len(self._record) <= MAX_RECORD:
            self._record += part
        if found:
            self.record = bytes(self._record) if len(self._record) <= MAX_RECORD else None
            self._record = None
        return b""

    def _beginning(self, data: bytes) -> int:
        """Return the number of bytes at the end that may start a mark."""
        longest = min(len(self._mark) - 1, len(data))
        lengths = range(longest, 0, -1)
        return next((n for n in lengths if self._mark.startswith(data[-n:])), 0)


@dataclass(frozen=True, slots=True)
class Left:
    """State that a shell left, as far as it is saved.

    Attributes:
        outside: its directory, if outside the workspace.
        dropped: names of variables that are not saved.
    """

    state: ShellState
    outside: str | None = None
    dropped: tuple[str, ...] = ()


def read_record(record: bytes, root: str, before: ShellState) -> Left:
    """Parse and validate a state record.

    Args:
        root: absolute path of the workspace; directories outside it are not saved.
    """
    where, *pairs = record.split(b"\0")
    cwd = _text(where.removesuffix(b"\n")) or ""
    inside = cwd == posixpath.normpath(cwd) and f"{cwd}/".startswith(root.rstrip("/") + "/")
    kept: dict[str, str] = {}
    dropped: list[str] = []
    room = MAX_VALUES
    for pair in pairs:
        raw_name, _, raw_value = pair.partition(b"=")
        name, value = _text(raw_name) or "", _text(raw_value)
        if not _NAME.fullmatch(name) or _OWN.fullmatch(name):
            continue
        fits = value is not None and len(value) <= min(MAX_VALUE, room - len(name))
        if value is None or not fits or len(kept) >= MAX_VARIABLES or _NEVER.fullmatch(name):
            dropped.append(name)
            continue
        room -= len(name) + len(value)
        kept[name] = value
    state = ShellState(cwd if inside else before.cwd, kept)
    return Left(state, None if inside else cwd, tuple(dropped))


def loss_text(left: Left, command: str) -> str:
    """Return what the next call will not find, as lines for the model; usually none.

    Only variables named in the command are mentioned, because it has not set the others.
    """
    lines = []
    if left.outside is not None:
        lines.append(f"Not saved: the directory {left.outside[:200]!r}, outside the workspace")
    named = [name for name in left.dropped if name in command]
    if named:
        names = ", ".join(named[:20])
        lines.append(f"Not saved: {names} (too large, too many, or never saved)")
    return "\n".join(lines)


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
