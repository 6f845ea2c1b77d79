"""Carriers of secrets: programs that write their input into files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from app.policy.risk.call import CommandCall, names, options
from app.policy.risk.named_secrets import (
    WHOLE_DATABASE,
    WHOLE_FOLDER,
    in_file,
    incoming,
    is_address,
    named_by,
)
from app.policy.risk.sources import DUMPS, SOURCES, packed


def _fill_archive(call: CommandCall) -> Iterator[tuple[str, str]]:
    archive, what = packed(call)
    if archive != "-":
        yield archive, what
        if call.name in {"zip", "7z", "7za", "rar"}:
            yield (
                f"{archive}.{'7z' if call.name != 'zip' and call.name != 'rar' else call.name}",
                what,
            )


_COMPRESSED = {"gzip": ".gz", "pigz": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}


def _fill_beside(call: CommandCall) -> Iterator[tuple[str, str]]:
    for path in options(call.args, "o T S").rest:
        yield path + _COMPRESSED[call.name], in_file(call, path)


def _fill_copy(call: CommandCall) -> Iterator[tuple[str, str]]:
    given = options(call.args, "t S m o g e -target-directory -exclude -rsh")
    folder = given.value("-t", "--target-directory")
    sources = given.rest if folder else given.rest[:-1]
    target = folder or (given.rest[-1] if len(given.rest) > 1 else "")
    if not target or is_address(target):
        return
    for source in sources:
        what = in_file(call, source)
        yield target, what
        yield f"{target.rstrip('/')}/{source.rstrip('/').rsplit('/', 1)[-1]}", what


def _fill_operands(call: CommandCall) -> Iterator[tuple[str, str]]:
    for word in call.args:
        if word[:1] != "-":
            yield word.removeprefix("of="), incoming(call)


_SCREENS = names(
    "screencapture grim scrot maim gnome-screenshot spectacle flameshot imagesnap import xwd "
    "screenshot ksnip shotgun"
)


def _fill_picture(call: CommandCall) -> Iterator[tuple[str, str]]:
    """Detect pictures of the screen or from the camera."""
    for word in call.args:
        if "." in word and word[:1] != "-":
            yield word, "a screenshot"


def _fill_device_copy(call: CommandCall) -> Iterator[tuple[str, str]]:
    given = dict(word.split("=", 1) for word in call.args if "=" in word)
    yield given.get("of", ""), in_file(call, given.get("if", "")) or incoming(call)


_OUTPUT_OPTIONS = frozenset(names("-o -out --output --out --result-file -r -f --file --outfile -w"))


def _fill_output(call: CommandCall) -> Iterator[tuple[str, str]]:
    what = WHOLE_DATABASE if call.name in DUMPS else incoming(call) or named_by(call)
    for at, word in enumerate(call.args):
        name, equals, value = word.partition("=")
        if name in _OUTPUT_OPTIONS:
            yield value if equals else "".join(call.args[at + 1 : at + 2]), what
    if call.name in {"gpg", "gpg2"}:
        for word in call.args:
            if word[:1] != "-":
                yield f"{word}.gpg", in_file(call, word)
                yield f"{word}.asc", in_file(call, word)
    if call.name == "split":
        yield from ((word + end, what) for word in [*call.args[1:], "x"] for end in ("aa", "*"))
    if call.name == "xxd" and len(options(call.args, "c g l s").rest) > 1:
        yield call.args[-1], what


def _git_writes(call: CommandCall) -> Iterator[tuple[str, str]]:
    """Detect bundles and archives, which contain the whole repository."""
    words = options(call.args, "C c -git-dir -work-tree", stop=True).rest
    if words[:2] == ["bundle", "create"] and len(words) > 2:
        yield next((word for word in words[2:] if word[:1] != "-"), ""), WHOLE_FOLDER
    elif words[:1] == ["archive"]:
        given = options(words[1:], "o -output -format -prefix -remote")
        for path in given.all_values("-o", "--output"):
            yield path, WHOLE_FOLDER
    yield from _remote(call)


def _remote(call: CommandCall) -> Iterator[tuple[str, str]]:
    """Detect remotes set by the script, which are new destinations."""
    words = options(call.args, "C c -git-dir -work-tree", stop=True).rest
    rest = options(words[2:], "t m f").rest if words[:1] == ["remote"] else []
    if words[1:2] and words[1] in {"add", "set-url"} and rest:
        call.flow.remotes.add(rest[0])
    elif words[:1] == ["config"]:
        for word in words[1:]:
            if found := re.fullmatch(r"remote\.(.+)\.(?:push)?url", word, re.IGNORECASE):
                call.flow.remotes.add(found[1])
    return iter(())


FILLING: dict[str, Callable[[CommandCall], Iterator[tuple[str, str]]]] = {
    **dict.fromkeys(("tar", "bsdtar", "gtar", "zip", "7z", "7za", "rar", "ar"), _fill_archive),
    **dict.fromkeys(_COMPRESSED, _fill_beside),
    **dict.fromkeys(("cp", "mv", "ln", "install", "rsync", "ditto", "scp"), _fill_copy),
    **dict.fromkeys(("tee", "sponge"), _fill_operands),
    "dd": _fill_device_copy,
    **dict.fromkeys(_SCREENS, _fill_picture),
    **dict.fromkeys(
        (*DUMPS, "gpg", "gpg2", "age", "openssl", "split", "xxd", "base64", "sort", "jq"),
        _fill_output,
    ),
    "git": _git_writes,
}
"""Programs that write files themselves, each with the secret that goes into the file."""


FILL_ANYWAY = frozenset([*DUMPS, *SOURCES, *_SCREENS]) & FILLING.keys()
"""Files whose content may be secret, regardless of the command's words."""
