"""Commands for other hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import UNTOLD, Answer, CommandCall, RuleTable, ask, options, script, table
from app.policy.risk.paths import writing

_SSH = "b c D e F I i J L l m O o p Q R S W w B E P"


def _settings(values: list[str]) -> Iterator[Answer]:
    for value in values:
        key, _, text = re.sub(r"[\s=]+", "=", value.strip(), count=1).partition("=")
        if (
            key.lower() in {"proxycommand", "localcommand", "knownhostscommand"}
            and text.lower() != "none"
        ):
            yield script(re.sub(r"%[hprnC]", "x", text), stdin=UNTOLD)


def _ssh(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, _SSH, stop=True)
    yield from _settings(given.all_values("-o"))
    for path in given.all_values("-F"):
        if call.was_written(path):
            lines = (call.written(path) or "ProxyCommand \0").splitlines()
            yield from _settings([line.strip() for line in lines])
    words = given.rest[1:]
    while words and words[0].startswith("-") and words[0] != "-":
        later = options(words, _SSH, stop=True)
        yield from _settings(later.all_values("-o"))
        words = later.rest
    if words:
        yield script(" ".join(words), stdin=call.stdin)
    elif call.stdin and given.rest and not given.has("-N", "-W"):
        yield script(call.stdin.text)


_REMOTE = re.compile(r"(?:\S+@)?[\w.%\[\]:-]*?:(?P<path>/.*)")


def on_target(call: CommandCall, target: str) -> Iterator[Answer]:
    """Yield findings about targets of `scp` and `rsync`: a local path, or `host:path` of another
    host.
    """
    if ":" not in target.split("/", 1)[0]:
        yield from writing(call.at(target), call.home)
    elif found := _REMOTE.fullmatch(target):
        path = call.at(found["path"])
        if path in _REMOTE_FOLDERS or any(True for _ in writing(path, call.home)):
            yield ask("system_write", f"writes the system path {path} of another host")


_REMOTE_FOLDERS = frozenset(["/", "/root", "/var", "/var/lib"])


def _copy(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "c F i J l o P S D X b B R s")
    yield from _settings(given.all_values("-o"))
    for program in given.all_values("-S"):
        yield script(program, stdin=UNTOLD)
    if call.name == "scp" and given.rest:
        yield from on_target(call, given.rest[-1])
    if call.name == "sftp" and (given.has("-b") or call.stdin):
        batch = given.value("-b") or "-"
        yield from _sftp(call.written(batch) if call.was_written(batch) or call.stdin else None)


def _sftp(text: str | None) -> Iterator[Answer]:
    if text is None:
        yield script(None)
        return
    for line in text.splitlines():
        words = line.strip().lstrip("-")
        yield script(
            words[1:] if words.startswith("!") else words if words.startswith("rm") else ":"
        )


_FTP_DELETES = re.compile(
    r"(?:^|[;\n&|])\s*(?:m?rm|rmdir|mrm|m?delete|mirror\b[^;\n]{0,200}--(?:delete|Remove)[\w-]*)\b"
)


def _ftp(call: CommandCall) -> Iterator[Answer]:
    """Handle ftp and lftp: commands for the server, and shell lines after `!`."""
    texts: list[str | None] = [*options(call.args, "e c u p f").all_values("-e", "-c")]
    if call.stdin and not call.stdin.file:
        texts.append(call.stdin.text)
    for text in texts:
        if text is None:
            yield script(None)
            continue
        if _FTP_DELETES.search(text):
            yield ask("delete", f"{call.name} deletes files on the server")
        for line in re.findall(r"(?m)(?:^|;)\s*!(.+)$", text):
            yield script(line)


def _vagrant(call: CommandCall) -> Iterator[Answer]:
    if call.args[:1] == ["ssh"]:
        for text in options(call.args[1:], "c -command").all_values("-c", "--command"):
            yield script(text, contained=True)


def _many(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "h H l t o e p x u g w", stop=True)
    if given.rest:
        named = given.value("-h", "-w", "-g", "-H") or given.has("-a")
        words = given.rest if named else given.rest[1:]
        yield script(" ".join(words))


def _cloud(call: CommandCall) -> Iterator[Answer]:
    if call.args[:2] == ["vm", "run-command"]:
        for text in options(call.args, "-scripts", clusters=False).all_values("--scripts"):
            yield script(text)
    if "ssh" in call.args:
        for text in options(call.args, "-command C c").all_values("--command", "-C", "-c"):
            yield script(text)


CLOUDS: RuleTable = table("gcloud fly flyctl az", _cloud)
RULES: RuleTable = {
    **table("ssh autossh mosh slogin", _ssh),
    **table("scp sftp", _copy),
    **table("ftp lftp", _ftp),
    "vagrant": _vagrant,
    **table("pssh parallel-ssh pdsh clush dsh", _many),
    **CLOUDS,
}
