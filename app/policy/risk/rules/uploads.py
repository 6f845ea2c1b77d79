"""Programs that send data to other hosts, and the secrets they would send.

The programs are the rows of `senders.SENDERS`. The check is the same for all: does a word, a file
named in a word, or the input contain a secret (`flow`, `secrets`)?
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.core.secret_formats import holds_key
from app.policy.risk.call import SECRET, Answer, CommandCall, RuleTable, ask, names, prints_help
from app.policy.risk.named_secrets import WHOLE, WHOLE_FOLDER, in_file, paths_in
from app.policy.risk.senders import SENDERS, Sender

_LOOPBACK = re.compile(
    r"(?:\w+://)?(?:[^/@\s]*@)?(?:localhost|127(?:\.\d+){3}|\[?::1\]?|0\.0\.0\.0|[\w.-]+\.localhost"
    r"|host\.docker\.internal)(?::\d+)?(?:[/?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
_FAR = re.compile(
    r"\w+://(?!(?:[^/@\s]*@)?(?:localhost|127\.|\[?::1|0\.0\.0\.0|[\w.-]+\.localhost))"
)
_LOGS_IN = re.compile(
    r"(?:(?:proxy-)?authorization|cookie|[\w-]*(?:token|api-?key|auth|secret|session|signature|key-id)"
    r"|[\w-]*-key)\s*:",
    re.IGNORECASE,
)
_USER_IN_ADDRESS = re.compile(r"^(\w+://)[^/@]*@")
_DASHES = re.compile(
    r"(?:[\w.\[\]-]*[@<]|--?[\w-]+=@?|.*:-)?-|@?/dev/(?:stdin|fd/0)|[\w-]+=[@<](?:-|/dev/stdin)"
)
_PIECES = re.compile(r"[\s;,'\"()]+")
_HEADERS = frozenset(["-H", "--header"])


def sends(call: CommandCall) -> Iterator[Answer]:
    """Ask about a secret that `call` would send."""
    row = SENDERS[call.name]
    if prints_help(call.args) or not _TRIES.isdisjoint(call.args):
        return
    if call.name in _TRIES_BY_N and "-n" in call.args:
        return
    if not _is_sending(call, row) or _is_local(call):
        return
    found = _in_words(call, row) or _in_input(call, row)
    if found and not (row.own_host and found == WHOLE_FOLDER and not _is_bare_address(call)):
        yield ask("secret_sent", f"{call.name} sends {found} to another host")


_TRIES = frozenset(names("--dry-run --dryrun --dry-run=true --list-only"))


_TRIES_BY_N = frozenset(["gsutil", "rsync", "rclone", "unison"])


def _is_sending(call: CommandCall, row: Sender) -> bool:
    words = [word for word in call.args if word[:1] != "-"]
    if row.verbs:
        text = " ".join(words[:8])
        if not any(_begins(text, verb) for verb in row.verbs):
            return False
    if row.needs and not any(word.startswith(row.needs) for word in call.args):
        return False
    return (
        not row.copies
        or _is_far(words[-1] if words else "")
        or (call.name in {"aws", "gcloud"} and not _to_here(words))
    )


def _begins(text: str, verb: str) -> bool:
    """Return whether a subcommand is given, skipping values of options before it."""
    return f" {verb} " in f" {text} "


_REMOTE = re.compile(r"[^/]*:|[\w.-]+/[\w.-]+:")


def _is_far(target: str) -> bool:
    return _REMOTE.match(target) is not None or SECRET in target


def _to_here(words: list[str]) -> bool:
    """Return whether a copy in a cloud's client goes to a local path."""
    copied = {"cp", "mv", "sync", "rsync", "scp"}.intersection(words[:4])
    return bool(copied) and not _is_far(words[-1])


def _is_local(call: CommandCall) -> bool:
    near = any(_LOOPBACK.fullmatch(word) for word in call.args)
    return near and not any(_FAR.match(word) for word in call.args)


def _values(call: CommandCall, row: Sender) -> Iterator[tuple[str, str]]:
    """Yield each word with the option that it is the value of."""
    keys = frozenset(row.keys.split())
    before = ""
    for word in call.args:
        option, name = before, word.partition("=")[0]
        before = word if word[:1] == "-" and len(word) > 1 else ""
        if (
            option in keys
            or (name in keys and "=" in word)
            or (word[:2] in keys and word[:2] != "--")
        ):
            continue
        yield option, word


def _in_words(call: CommandCall, row: Sender) -> str:
    if row.input_only:
        return ""
    for option, word in _values(call, row):
        if option in _HEADERS or word.startswith("--header="):
            if SECRET in word and not _LOGS_IN.match(word.removeprefix("--header=")):
                return "a secret in a header"
            continue
        if SECRET in word and not _only_logs_in(call, word, option, row):
            return "a secret"
        if len(word) > _SHORTEST_KEY and _holds_key(word, option, row):
            return "what looks like a key"
        if row.names_only or (row.web and "://" in word and not word.startswith("file")):
            continue
        if row.copies and word is call.args[-1]:
            continue
        if found := _in_paths(call, word, option, row):
            return found
    return ""


def _goes_elsewhere(call: CommandCall, row: Sender) -> bool:
    """Return whether an operand is already an address, so that another one is not the secret
    address.
    """
    return any("://" in word and not option for option, word in _values(call, row))


_SHORTEST_KEY = 18


def _holds_key(word: str, option: str, row: Sender) -> bool:
    if row.web and not option and _LOGS_IN.match(word):
        return False
    return holds_key(_USER_IN_ADDRESS.sub(r"\1", word))


def _only_logs_in(call: CommandCall, word: str, option: str, row: Sender) -> bool:
    """Return whether a secret is in its expected place: a header, or the user's name."""
    if not row.web:
        return False
    if not option and word.startswith(SECRET):
        return not _goes_elsewhere(call, row)
    if not option and _LOGS_IN.match(word):
        return True
    return SECRET not in _USER_IN_ADDRESS.sub(r"\1", word)


_UPLOADS = frozenset(
    names(
        "-T --upload-file --post-file --body-file --data-file -InFile --file --form-file --raw-file"
    )
)


def _in_paths(call: CommandCall, word: str, option: str, row: Sender) -> str:
    if row.commands and " " in word:
        return _in_commands(call, word)
    attached = row.web and option not in _UPLOADS and word.partition("=")[0] not in _UPLOADS
    if " " in word and not attached:
        return ""
    if word in WHOLE and not row.web:
        return WHOLE_FOLDER
    if row.peers and _FOLDER_AT_HOME.fullmatch(call.at(word).removeprefix(call.home)):
        return f"the folder {word}"
    return next(
        filter(None, (in_file(call, path) for path in paths_in(word, attached=attached))), ""
    )


_FOLDER_AT_HOME = re.compile(r"/[\w-]+/?")
_PUTS = re.compile(r"\b(?:m?put|mirror\s+(?:-\S+\s+)*-R|reput|send)\b(?P<words>[^;\n]*)")


def _in_commands(call: CommandCall, text: str) -> str:
    """Return the secret in a file that the program's own commands send: `put -r .`."""
    for put in _PUTS.finditer(text):
        for piece in _PIECES.split(put["words"]):
            if piece in WHOLE:
                return WHOLE_FOLDER
            for path in paths_in(piece):
                if found := in_file(call, path):
                    return found
    return ""


_ADDRESS_OF_HOST = re.compile(r"(?:^|[@/\[])(\d{1,3}(?:\.\d{1,3}){3})(?=$|[:/\]])")
_PRIVATE = re.compile(
    r"10\.|127\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\."
)


def _is_bare_address(call: CommandCall) -> bool:
    """Return whether the host is a public IP address instead of a name."""
    found = (_ADDRESS_OF_HOST.search(word) for word in call.args)
    return any(match and not _PRIVATE.match(match[1]) for match in found)


def _in_input(call: CommandCall, row: Sender) -> str:
    if call.stdin is None or row.stdin == "never":
        return ""
    if row.commands and call.stdin.text and (found := _in_commands(call, call.stdin.text)):
        return found
    if not call.stdin.secret:
        return ""
    dashed = row.stdin == "always" or any(map(_DASHES.fullmatch, call.args))
    return call.stdin.secret if dashed or (row.web and "." in call.args) else ""


RULES: RuleTable = dict.fromkeys(SENDERS, sends)
