"""Compilers, package tools and converters with an option that names a program to run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import (
    UNTOLD,
    Answer,
    CommandCall,
    RuleTable,
    ask,
    options,
    run,
    script,
    table,
)

_SHELLS = re.compile(r"(?:/\S+/)?(?:ba|z|da|k)?sh|cmd(?:\.exe)?|(?:power|pw)sh(?:el)?l?(?:\.exe)?")


def _compiler(call: CommandCall) -> Iterator[Answer]:
    for text in options(call.args, "wrapper", clusters=False).all_values("-wrapper"):
        yield run(text.split(","))


def _cargo(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "s x -shell -exec -config w i")
    if any(
        re.search(r"wrapper|runner|linker|rustc\b|rustdoc\b", text)
        for text in given.all_values("--config")
    ):
        yield ask("loaded_code", "makes cargo run another program")
    if given.rest[:1] == ["watch"]:
        for text in given.all_values("-s", "--shell"):
            yield script(text)


def _npm(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "-script-shell -prefix w C")
    shells = given.all_values("--script-shell")
    if given.rest[:2] in (["config", "set"], ["c", "set"]):
        text = "=".join(given.rest[2:])
        shells += [text.partition("=")[2]] if text.startswith("script-shell") else []
    for shell in shells:
        if not _SHELLS.fullmatch(shell):
            yield ask("loaded_code", f"makes {call.name} run its scripts with {shell}")


def _rpm(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "E D -eval -define -pipe")
    for text in given.all_values("--pipe"):
        yield script(text, stdin=UNTOLD)
    for text in given.all_values("-E", "--eval", "-D", "--define"):
        if found := re.search(r"%\(([^\n]*)", text):
            yield script(found.group(1).rpartition(")")[0])
        if found := re.search(r"%\{lua:([^\n]*)", text):
            yield script(found.group(1).rpartition("}")[0], "lua")


def _pandoc(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "F L -filter -lua-filter o f t r w")
    for program in given.all_values("-F", "--filter"):
        yield run([program], stdin=UNTOLD)
    for path in given.all_values("-L", "--lua-filter"):
        if call.was_written(path):
            yield script(call.written(path), "lua")


def _miller(call: CommandCall) -> Iterator[Answer]:
    for text in call.args:
        if re.search(r"\b(?:system|exec)\s*\(|\|\s*\"", text):
            yield ask("code_danger", "the expression runs commands")


def _tracer(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "c e p o f I -cmd")
    for text in given.all_values("-c"):
        yield script(text)
    if any(re.search(r"\bsystem\s*\(", text) for text in given.all_values("-e")):
        yield ask("code_danger", "the program runs commands")


def _application(call: CommandCall) -> Iterator[Answer]:
    """Handle `flatpak run --command=program application words`."""
    given = options(call.args, "-command -branch -arch", stop=True)
    inner = options(given.rest[1:], "-command -branch -arch", stop=True)
    program = inner.value("--command") or given.value("--command")
    if given.rest[:1] == ["run"] and program:
        yield run([program, *inner.rest[1:]])


def _edits_as_other(call: CommandCall) -> Iterator[Answer]:
    if call.args:
        yield ask("privileged_edit", "edits files as another user")


RULES: RuleTable = {
    **table("gcc g++ cc c++", _compiler),
    "cargo": _cargo,
    **table("npm pnpm yarn", _npm),
    **table("rpm rpmbuild rpmdb rpmspec rpmquery rpmverify", _rpm),
    "pandoc": _pandoc,
    "mlr": _miller,
    "bpftrace": _tracer,
    "flatpak": _application,
    "sudoedit": _edits_as_other,
}
