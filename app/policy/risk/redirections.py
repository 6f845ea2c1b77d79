"""Redirected output and input of a command."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.policy.risk.call import SECRET, UNKNOWN, Stream, ask, resolve
from app.policy.risk.control import SILENT, UNSEEN
from app.policy.risk.expand import Expander
from app.policy.risk.files_run import FilesRun
from app.policy.risk.kinds import READ
from app.policy.risk.model import FileRun
from app.policy.risk.paths import reading, writing
from app.policy.risk.scope import ShellScope
from app.policy.risk.secrets import held
from app.policy.risk.syntax import Lit, Proc, Redirect, Simple

_DESCRIPTOR = re.compile(r"\d*-?")
_OWN_OUTPUT = frozenset(["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])


class Redirections(FilesRun):
    """Checks written redirections, and tracks read ones."""

    def _fed(self, node: Simple, scope: ShellScope) -> str:
        """Return the secret in a file given to a command as input."""
        for redirect in node.redirects:
            if redirect.op == "<" and all(isinstance(part, Lit) for part in redirect.target):
                path = resolve(Expander(scope, self).text(redirect.target), scope.cwd, scope.home)
                return self.flow.files.get(path, "") or held(path, scope.home)
        return ""

    def redirects(
        self, redirects: Sequence[Redirect], scope: ShellScope, stdin: Stream | None
    ) -> tuple[Stream | None, list[tuple[str, str]]]:
        """Check redirected output; return the command's input, and operators with files."""
        files: list[tuple[str, str]] = []
        if not redirects:
            return stdin, files
        expander = Expander(scope, self)
        for redirect in redirects:
            value = expander.text(redirect.target)
            taken = stdin
            if redirect.op in {"<<", "<<-", "<<<"}:
                newline = "\n" if redirect.op == "<<<" else ""
                secret = "a secret" if SECRET in value else ""
                taken = Stream(None if UNKNOWN in value else value + newline, secret=secret)
            elif redirect.op == "<":
                taken = self._input(value, scope)
            elif redirect.op == "<&":
                taken = None if value == "-" else UNSEEN
            elif redirect.op != ">&" or not _DESCRIPTOR.fullmatch(value):
                op = redirect.op if redirect.descriptor in {"", "1"} else redirect.descriptor
                files.append((op, self.writes(value, scope)))
                taken = UNSEEN if redirect.op == "<>" else stdin
            if redirect.descriptor in {"", "0"}:
                stdin = taken
        return stdin, files

    def writes(self, value: str, scope: ShellScope) -> str:
        path = resolve(value, scope.cwd, scope.home)
        self.opens(path)
        for hit in writing(path, scope.home):
            self.found(hit, None)
        return path

    def _input(self, value: str, scope: ShellScope) -> Stream:
        path = resolve(value, scope.cwd, scope.home)
        if path == "/dev/null":
            return SILENT
        self.opens(path)
        self.looks_at(FileRun(path, READ))
        for hit in reading(path, scope.home):
            self.found(hit, None)
        secret = self.flow.files.get(path, "") or held(path, scope.home)
        if path in scope.files:
            return Stream(scope.files[path], secret=secret)
        return Stream(None, path, (), secret)

    def into_files(self, files: list[tuple[str, str]], scope: ShellScope, output: Stream) -> Stream:
        for op, path in files:
            if path in _OWN_OUTPUT:
                continue
            if op not in {">", ">>", ">|", ">&", "&>", "&>>"}:
                # Another descriptor: the output is unchanged.
                scope.files[path] = None
                continue
            before = scope.files.get(path, "") if ">>" in op else ""
            if ">>" not in op and output.text is not None and not output.text.strip():
                self.empties(path)
            known = before is not None and output.text is not None
            scope.files[path] = f"{before}{output.text}" if known else None
            if output.secret:
                self._keeps(path, output.secret)
            output = SILENT
        scope.files.pop("/dev/null", None)
        return output

    def _keeps(self, path: str, secret: str) -> None:
        """Record that a redirection fills a file with a secret, or sends it."""
        if path.startswith(("/dev/tcp/", "/dev/udp/")):
            self.found(ask("secret_sent", f"sends {secret} through {path}"), None)
        elif path != "/dev/null":
            self.flow.files[path] = secret


def runs_a_reader(redirect: Redirect) -> bool:
    """Return whether it is `> >(command)`."""
    return ">" in redirect.op and any(isinstance(part, Proc) for part in redirect.target)
