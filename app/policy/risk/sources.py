"""Sources of secrets: programs that print more than the files they name."""

from __future__ import annotations

import re
from collections.abc import Callable

from app.policy.risk.call import UNKNOWN, CommandCall, names, options
from app.policy.risk.named_secrets import (
    ENVIRONMENT,
    SOME_SECRET,
    WHOLE,
    WHOLE_DATABASE,
    WHOLE_FOLDER,
    in_file,
    incoming,
    named_by,
)
from app.policy.risk.secrets import ALL_OF, held, is_secret_name

COUNTING = {
    "grep": frozenset(names("-c -q -l -L --count --quiet --silent --files-with-matches")),
    "rg": frozenset(names("-c -q -l --count --quiet --files-with-matches --files")),
    "diff": frozenset(names("-q --brief")),
    "tar": frozenset(names("-t --list")),
}


DUMPS = frozenset(
    names(
        "mysqldump mariadb-dump pg_dump pg_dumpall mongodump mongoexport cockroach influxd "
        "slapcat ldapsearch clickhouse-backup"
    )
)


SECRET_WORD = re.compile(r"passw|secret|token|api.?key|private.?key|credential|AKIA", re.IGNORECASE)


def _env(call: CommandCall) -> str:
    given = options(call.args, "u C S -unset -chdir -split-string", stop=True)
    is_print = all("=" in word for word in given.rest)
    return ENVIRONMENT if is_print and not given.has("-S", "--split-string") else ""


def printenv(call: CommandCall) -> str:
    """Return what `printenv` shows: the whole environment, or the named variables."""
    names_given = options(call.args).rest
    if not names_given:
        return ENVIRONMENT
    secret = any(is_secret_name(name) or UNKNOWN in name for name in names_given)
    return SOME_SECRET if secret else ""


def _set(call: CommandCall) -> str:
    return "" if call.args else ENVIRONMENT


def _declare(call: CommandCall) -> str:
    given = options(call.args)
    shows = not given.rest and (not given.flags or given.has("-p", "-x"))
    return ENVIRONMENT if shows else ""


def _dump(call: CommandCall) -> str:
    return WHOLE_DATABASE


def _git(call: CommandCall) -> str:
    words = options(call.args, "C c -git-dir -work-tree -namespace", stop=True).rest
    if words[:1] in (["archive"], ["fast-export"]) or words[:2] == ["bundle", "create"]:
        return WHOLE_FOLDER
    shows = words[:1] == ["log"] and any(_SHOWS_CHANGES.match(word) for word in words[1:])
    return "the history of the code" if shows else ""


_SHOWS_CHANGES = re.compile(r"-p$|-S|-G|--patch$")


def _container(call: CommandCall) -> str:
    """Return the secret of a container, whose start arguments contain settings; an image
    contains the code.
    """
    words = options(call.args, "H c l").rest
    if words[:1] in (["save"], ["export"]) or words[1:2] in (["save"], ["export"]):
        return WHOLE_FOLDER
    return ENVIRONMENT if words[:1] == ["inspect"] or words[1:2] == ["inspect"] else ""


def _module(call: CommandCall) -> str:
    """Handle `python -m zipfile -c - .`."""
    words = [word for word in call.args if word != "-m"]
    packs = words[:1] in (["zipfile"], ["tarfile"]) and words[1:3] in (
        ["-c", "-"],
        ["--create", "-"],
    )
    return members_hold(call, words[3:]) if packs else ""


def _snapshot(call: CommandCall) -> str:
    return WHOLE_FOLDER if call.args[:1] == ["send"] else ""


def _sqlite(call: CommandCall) -> str:
    return WHOLE_DATABASE if any(".dump" in word for word in call.args) else named_by(call)


def _search(call: CommandCall) -> str:
    given = options(call.args, "e f A B C m -include -exclude -exclude-dir -regexp -file g t")
    patterns = given.all_values("-e", "--regexp") or given.rest[:1]
    deep = call.name in {"rg", "ag", "ack"} or given.has("-r", "-R", "--recursive")
    quiet = not COUNTING["grep"].isdisjoint(given.flags)
    if deep and not quiet and any(SECRET_WORD.search(pattern) for pattern in patterns):
        return "what a search for secrets finds"
    return ""


_SECRET_NAME_OPTIONS = frozenset(names("-name -iname -path -ipath -wholename"))


def _find(call: CommandCall) -> str:
    """Return the secret in files found by name, which another program then reads."""
    if finds_secrets(call):
        return _FILES_OF_SECRETS
    shows = any(f"{run}\ncat\n" in "\n".join(call.args) for run in ("-exec", "-x", "-X"))
    return WHOLE_FOLDER if shows else ""


_FILES_OF_SECRETS = "files that hold secrets"


def finds_secrets(call: CommandCall) -> bool:
    """Return whether `find` or `fd` searches for files with secrets, or in a folder of them."""
    if call.name in {"fd", "fdfind"}:
        pattern = next((word for word in call.args if word[:1] != "-"), "")
        if pattern and _names_secrets(re.sub(r"[\\^$]", "", pattern), call.home):
            return True
    for at, word in enumerate(call.args):
        before = call.args[at - 1] if at else ""
        if before in _SECRET_NAME_OPTIONS and _names_secrets(word, call.home):
            return True
        found = in_file(call, word) if word[:1] in {"/", "~", "."} else ""
        if found and not found.startswith(ALL_OF):
            return True
    return False


def _names_secrets(pattern: str, home: str) -> bool:
    named = held(f"/-/{pattern.replace('*', 'x').lstrip('/')}", home)
    return bool(named or SECRET_WORD.search(pattern) or re.search(r"\bid_|\.env", pattern))


def _processes(call: CommandCall) -> str:
    """Handle `ps e`, which shows the environment of every process."""
    given = "".join(arg for arg in call.args if arg[:1] != "-")
    return ENVIRONMENT if "e" in given or "-E" in call.args else ""


def _history(call: CommandCall) -> str:
    return "the shell's history" if not options(call.args).has("-c", "-d", "-w") else ""


def _clipboard(call: CommandCall) -> str:
    """Handle the clipboard, which often contains a password."""
    pastes = call.name in {"pbpaste", "wl-paste"} or options(call.args, "selection sel").has(
        "-o", "-out", "--output"
    )
    return "the clipboard" if pastes else ""


SOURCES: dict[str, Callable[[CommandCall], str]] = {
    **dict.fromkeys(("pbpaste", "wl-paste", "xclip", "xsel"), _clipboard),
    "env": _env,
    "printenv": printenv,
    "set": _set,
    **dict.fromkeys(("export", "declare", "typeset", "readonly"), _declare),
    **dict.fromkeys(DUMPS, _dump),
    "git": _git,
    **dict.fromkeys(("docker", "podman", "nerdctl"), _container),
    **dict.fromkeys(("zfs", "btrfs"), _snapshot),
    **dict.fromkeys(("python", "python3"), _module),
    **dict.fromkeys(("sqlite3", "sqlite", "litecli"), _sqlite),
    **dict.fromkeys(("grep", "egrep", "rg", "ag", "ack"), _search),
    **dict.fromkeys(("find", "fd", "fdfind"), _find),
    "ps": _processes,
    **dict.fromkeys(("history", "fc"), _history),
    **dict.fromkeys(
        ("tar", "bsdtar", "gtar", "zip", "7z", "7za", "rar", "cpio", "pax", "ar"),
        lambda call: packed(call)[1],
    ),
}
"""Programs that print more than the files they name, with the secret in words."""


def packed(call: CommandCall) -> tuple[str, str]:
    """Return the archive that a command creates, and its secret."""
    if call.name in {"tar", "bsdtar", "gtar"}:
        return _tar(call)
    if call.name in {"cpio", "pax"}:
        listed = call.stdin.listed if call.stdin else ()
        whole = WHOLE_FOLDER if not WHOLE.isdisjoint(listed) else ""
        return "-", incoming(call) or whole
    words = [word for word in call.args if word[:1] != "-" or word == "-"]
    if call.name != "zip":
        words = words[1:] if words[:1] in (["a"], ["u"], ["r"], ["rc"], ["rcs"]) else []
    return (words[0], members_hold(call, words[1:])) if words else ("", "")


def _tar(call: CommandCall) -> tuple[str, str]:
    args = list(call.args)
    if args and args[0][:1] != "-":
        args[0] = "-" + args[0]
    given = options(args, "f C X b T -file -directory -exclude -transform -files-from")
    if not given.has("-c", "-r", "-u", "--create", "--append", "--update"):
        return "", ""
    members = [*given.rest]
    for folder in given.all_values("-C", "--directory"):
        members += [f"{folder}/{member}" for member in given.rest]
    if given.all_values("-T", "--files-from"):
        members.append(".")
    return given.value("-f", "--file") or "-", members_hold(call, members)


def members_hold(call: CommandCall, members: list[str]) -> str:
    found = next(filter(None, (in_file(call, member) for member in members)), "")
    if found:
        return found
    home = f"{call.home}/"
    whole = any(
        member in WHOLE
        or call.at(member) == call.cwd
        or (call.at(member).startswith(home) and not (call.cwd or home).startswith(call.at(home)))
        for member in members
    )
    return WHOLE_FOLDER if whole else incoming(call) if "-" in members else ""
