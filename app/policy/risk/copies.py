"""Files that a script copies, moves, unpacks or downloads, and may run under their new names.

Commands with one source and one target are in `effects`, which knows the content of the target.
Here are the others: what they write is known only by its possible names and texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from app.policy.risk.call import UNKNOWN, CommandCall, is_pattern, names, options

MAX_COPIES = 64
_MOST_NAMES = 256
_MOST_TEXTS = 16
_MOST_COMPARED = 20_000

Texts = Mapping[str, str | None]
Sources = Callable[[CommandCall], Texts]
"""Files of the script that a command names, with their texts."""


class Copy(NamedTuple):
    """Files that one command may have written.

    Attributes:
        names: their possible paths, or the folders they are below.
        texts: possible texts by the path of the source; None: unknown.
        is_renaming: any name below `names` is possible, not only that of the source.
        starts: beginnings of their paths.
        basenames: last parts of their paths, wherever they are.
    """

    names: frozenset[str]
    texts: Texts
    is_renaming: bool = False
    starts: tuple[str, ...] = ()
    basenames: frozenset[str] = frozenset()

    def texts_below(self, name: str) -> Iterator[str | None]:
        """Yield the texts that a file with this name below one of `names` may have."""
        for source, text in self.texts.items():
            if self.is_renaming or source.rpartition("/")[2] in {name, ""}:
                yield text


class Copies:
    """Copies of one script so far, in all its branches."""

    def __init__(self) -> None:
        self._count = 0
        self._by_path: dict[str, list[Copy]] = {}
        self._by_basename: dict[str, list[Copy]] = {}
        self._by_start: list[Copy] = []

    def __bool__(self) -> bool:
        return self._count > 0

    def note(self, call: CommandCall) -> None:
        """Record what `call` writes, if it is a program of `COPYING`."""
        finder = COPYING.get(call.name)
        if finder is None or self._count > MAX_COPIES or call.args[:1] == ["--help"]:
            return
        copy = finder(call, self._sources)
        if copy is None or not copy.texts:
            return
        self._count += bool(copy.names or copy.basenames or copy.starts)
        for path in copy.names:
            self._by_path.setdefault(path, []).append(copy)
        for name in copy.basenames:
            self._by_basename.setdefault(name, []).append(copy)
        if copy.starts:
            self._by_start.append(copy)

    def texts_of(self, path: str) -> Collection[str | None]:
        """Return the texts that `path` may have; empty if no command has written it."""
        if self._count > MAX_COPIES:
            return (None,)
        name = path.rpartition("/")[2]
        found: dict[str | None, None] = {}
        for copy in (*self._by_path.get(path, ()), *self._by_basename.get(name, ())):
            found |= dict.fromkeys(copy.texts.values())
        for copy in self._by_start:
            if path.startswith(copy.starts):
                found |= dict.fromkeys(copy.texts.values())
        for folder in _folders_of(path):
            for copy in self._by_path.get(folder, ()):
                found |= dict.fromkeys(copy.texts_below(name))
        return found

    def _sources(self, call: CommandCall) -> Texts:
        """Return the files of this script that `call` names, and programs, with their texts."""
        if len(call.args) > _MOST_NAMES or len(call.args) * len(call.files) > _MOST_COMPARED:
            return {"": None}
        found: dict[str, str | None] = {}
        for path in _paths(call):
            found |= {one: text for one, text in call.files.items() if _includes(path, one)}
            if (text := program_text(path)) is not None:
                found[path] = text
            for copy in self._by_path.get(path, ()):
                found.update(copy.texts)
        return _bounded(found)


def _bounded(texts: Texts) -> Texts:
    """Return `texts`; too many are unknown."""
    return texts if len(texts) <= _MOST_TEXTS else {"": None}


_PROGRAM = re.compile(r"/(?:usr/)?(?:local/)?s?bin/[\w.+-]+$")


def program_text(path: str) -> str | None:
    """Return a script equal to a program of the system, which behaves alike under another name."""
    return f'{path} "$@"' if _PROGRAM.match(path) else None


def _folders_of(path: str) -> list[str]:
    ends = [at for at, char in enumerate(path) if char == "/"]
    return [path[:end] or "/" for end in ends]


def _includes(path: str, written: str) -> bool:
    """Return whether a path, folder or pattern includes a file that the script wrote."""
    if UNKNOWN in path:
        return True
    if path == written or written.startswith(f"{path.rstrip('/')}/"):
        return True
    return is_pattern(path) and fnmatchcase(written, f"{path}*")


def _paths(call: CommandCall) -> list[str]:
    """Return the paths among the words, including values of options."""
    found: list[str] = []
    for arg in call.args[-_MOST_NAMES:]:
        value = arg
        if arg[:1] == "-":
            _, equals, value = arg.partition("=")
            value = value if equals or arg[:2] == "--" else arg[2:]
        if value:
            found.append(call.at(value))
    return found


def _copied(call: CommandCall, sources_of: Sources) -> Copy | None:
    """Copies under the same name, or a single one under a new name."""
    return Copy(frozenset(_paths(call)), sources_of(call))


def _renamed(call: CommandCall, sources_of: Sources) -> Copy | None:
    sources = sources_of(call)
    folders = {source.rpartition("/")[0] for source in sources}
    return Copy(frozenset(folders), sources, is_renaming=True)


def _converted(call: CommandCall, sources_of: Sources) -> Copy | None:
    """Files with another content than their source."""
    sources = sources_of(call)
    return Copy(frozenset(_paths(call)) - sources.keys(), dict.fromkeys(sources))


_SUFFIX = re.compile(r"\.(?:gz|bz2|xz|zst|lz4|lzma|br|Z)$")


def _compressed(call: CommandCall, sources_of: Sources) -> Copy | None:
    """Files with and without the suffix of a compressed one; the content comes back whole."""
    paths = _paths(call)
    names = {_SUFFIX.sub("", path) for path in paths}
    names.update(path + end for path in paths for end in _SUFFIXES)
    return Copy(frozenset([*paths, *names]), sources_of(call))


_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".lzma", ".br")


def _python(call: CommandCall, sources_of: Sources) -> Copy | None:
    """Archives of `python -m zipfile` and `python -m tarfile`."""
    if call.args[:2] not in (["-m", "zipfile"], ["-m", "tarfile"]):
        return None
    if {"-e", "--extract"}.isdisjoint(call.args):
        return _archived(call, sources_of)
    return Copy(frozenset([call.at(call.args[-1])]), {"": None})


def _container(call: CommandCall, sources_of: Sources) -> Copy | None:
    """Files that `docker cp` brings out of a container."""
    if "cp" not in call.args[:3]:
        return None
    inner = CommandCall("cp", call.args[call.args.index("cp") + 1 :], call.cwd, call.home)
    return _transferred(inner, sources_of)


def _split(call: CommandCall, sources_of: Sources) -> Copy | None:
    operands = options(call.args, "a b C l n t f -prefix").rest
    given = options(call.args, "a b C l n t f -prefix").value("-f", "--prefix")
    default = "xx" if call.name == "csplit" else "x"
    prefix = given or (operands[1] if call.name == "split" and operands[1:] else default)
    return Copy(frozenset(), sources_of(call), starts=(call.at(prefix),))


_WRITES = re.compile(r"""(?:\bw(?:rite)?!?|/\w*w|\bsav\w*!?|>+|\+\+\+)\s*"?(?=([^\s"|]+))""")
"""How programs for `sed`, `awk` and editors, and patches, name the file to write."""


def _written_by(code: str) -> frozenset[str]:
    """Return the last parts of the paths that a program or patch writes."""
    return frozenset(path.rstrip("';|}").rpartition("/")[2] for path in _WRITES.findall(code))


def _programmed(call: CommandCall, sources_of: Sources) -> Copy | None:
    """Files that a program in the words or in the input names, and those it changes in place."""
    code = "\n".join([*call.args, (call.stdin and call.stdin.text) or ""])
    edited = sources_of(call) if call.name not in _STREAMING or _is_in_place(call) else {}
    return Copy(frozenset(edited), {"": None}, basenames=_written_by(code))


_STREAMING = frozenset(names("sed gsed awk gawk mawk nawk perl ruby"))
"""Programs that change a file only with an option."""


def _is_in_place(call: CommandCall) -> bool:
    return any(re.match(r"-[a-zA-Z0-9]*i|--in-place", arg) for arg in call.args)


def _edited(call: CommandCall, sources_of: Sources) -> Copy | None:
    """Files that a one-liner changes in place."""
    return Copy(frozenset(sources_of(call)), {"": None}) if _is_in_place(call) else None


def _patched(call: CommandCall, sources_of: Sources) -> Copy | None:
    """Files that a patch of this script names."""
    sources = sources_of(call)
    patch = call.stdin.text if call.stdin else None
    patches = "\n".join([patch or "", *(text or "" for text in sources.values())])
    return Copy(frozenset(sources), {"": None}, basenames=_written_by(patches))


def _unpacked(call: CommandCall, sources_of: Sources) -> Copy | None:
    """Files from archives, below the named folder or one named like the archive."""
    given = options(call.args, "C d f -directory")
    folder = given.value("-C", "-d", "--directory")
    if call.name not in _TARS:
        folder = next((arg[2:] for arg in call.args if re.match(r"-[od].", arg)), folder)
    elif not _extracts(call.args):
        return _archived(call, sources_of)
    elif re.match(r"[A-Za-z]*C", call.args[0]):
        # The folder is one of the words that follow the letters.
        return Copy(frozenset(_paths(call)), {"": None})
    place, sources = call.at(folder or "."), sources_of(call)
    if sources and None not in sources.values():
        return Copy(frozenset([place]), sources)
    if folder:
        return Copy(frozenset([place]), {"": None})
    archives = [arg for arg in call.args if _ARCHIVE.fullmatch(arg)]
    if call.stdin is not None and not archives:
        return Copy(frozenset([place]), {"": None})
    stems = {re.split(r"[-_.]\d|\.", path.rpartition("/")[2])[0] for path in archives}
    starts = tuple(f"{place.rstrip('/')}/{stem}" for stem in stems if stem)
    return Copy(frozenset(), {"": None}, starts=starts)


_TARS = frozenset(names("tar gtar bsdtar jar"))


def _extracts(args: Sequence[str]) -> bool:
    """Return whether `tar` extracts: `xf a`, `-xf a`, `-v -x`, `--extract`."""
    dashed = [arg for arg in args if arg[:1] == "-"]
    return any(re.match(r"-[A-Za-z]*x|--extract|--get", arg) for arg in dashed) or (
        re.match(r"[A-Za-z]*x[A-Za-z]*$", args[0] if args else "") is not None
    )


def _passed(call: CommandCall, _: Sources) -> Copy | None:
    """Files that `cpio` copies or extracts: the input names or contains them."""
    sources = _bounded(dict(call.files))
    place = options(call.args, "D F H R E").rest[-1:] or ["."]
    return Copy(frozenset(map(call.at, place)), sources or {"": None})


_ARCHIVE = re.compile(r"[^=]*\.(?:tar|tgz|tbz2?|txz|zip|7z|rar|cpio|whl|jar)(?:\.\w+)?")


def _archived(call: CommandCall, sources_of: Sources) -> Copy | None:
    sources = sources_of(call)
    return Copy(frozenset(_paths(call)) - sources.keys(), sources)


_GIT_VERBS = frozenset(["mv", "apply", "am", "worktree", "clone"])


def _git(call: CommandCall, sources_of: Sources) -> Copy | None:
    if _GIT_VERBS.isdisjoint(call.args):
        return None
    words = options(call.args, "C c -git-dir -work-tree", stop=True).rest
    if words[:1] == ["mv"]:
        return _copied(call, sources_of)
    if words[:1] in (["apply"], ["am"]):
        return _patched(call, sources_of)
    if words[:2] == ["worktree", "add"]:
        return Copy(frozenset(map(call.at, words[2:])), _bounded(dict(call.files)))
    return _cloned(call, sources_of) if words[:1] == ["clone"] else None


_CLONING = frozenset(["clone", "checkout", "co", "export"])


def _cloned(call: CommandCall, _: Sources) -> Copy | None:
    """A repository, in the folder after its address or in one named like it."""
    words = options(call.args, "b c o j C -branch -depth -config -origin -jobs").rest
    verb = next((at for at, word in enumerate(words[:2]) if word in _CLONING), None)
    if verb is None or not words[verb + 1 :]:
        return None
    source, *target = words[verb + 1 :]
    folder = source.rstrip("/").rpartition("/")[2].rpartition(":")[2].removesuffix(".git")
    return Copy(frozenset([call.at((target or [folder])[-1])]), {"": None})


def _transferred(call: CommandCall, sources_of: Sources) -> Copy | None:
    """Local copies, or unknown files from another machine or a store."""
    operands = options(call.args, "i P F o l c e -profile -region -exclude -include -rsh").rest
    if any(map(_is_remote, operands[:-1])):
        return Copy(frozenset([call.at(operands[-1])]), {"": None})
    return _copied(call, sources_of)


def _is_remote(word: str) -> bool:
    return ":" in word.partition("/")[0] or "://" in word


Finder = Callable[[CommandCall, Sources], Copy | None]


def _table(programs: str, finder: Finder) -> dict[str, Finder]:
    return dict.fromkeys(names(programs), finder)


COPYING: dict[str, Finder] = {
    **_table("cp gcp mv gmv ln gln link install ginstall ditto pax", _copied),
    **_table("rsync scp aws gsutil gcloud s3cmd mc rclone", _transferred),
    **_table("rename prename mmv mcp zmv", _renamed),
    **_table("split csplit", _split),
    **_table("sort uniq shuf iconv recode dos2unix unix2dos openssl xxd base64", _converted),
    **_table("gpg gpg2 age uudecode jq yq pandoc", _converted),
    **_table("gzip gunzip pigz bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd lz4", _compressed),
    **_table("brotli compress uncompress", _compressed),
    **_table("sed gsed awk gawk mawk nawk ed ex vi vim nvim", _programmed),
    **_table("perl ruby", _edited),
    "patch": _patched,
    **_table("tar gtar bsdtar jar unzip 7z 7za 7zz unrar", _unpacked),
    **_table("zip rar ar", _archived),
    **_table("hg svn gh glab", _cloned),
    "cpio": _passed,
    **_table("python python3", _python),
    **_table("docker podman nerdctl kubectl oc", _container),
    "git": _git,
}
"""Programs that write files, each with what these may be."""
