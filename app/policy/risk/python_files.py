"""Calls in a Python program that write, move or remove files with known paths."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator

from app.policy.risk.call import Answer, Stream, ask, names, run, script
from app.policy.risk.python_names import argument, constant, dotted, words_of
from app.policy.risk.python_paths import PathReader

_OPENS = frozenset(names("open io.open _io.open codecs.open builtins.open os.fdopen"))
_MOVES = frozenset(names("os.rename os.replace shutil.move"))
_REMOVES = frozenset(names("shutil.rmtree os.remove os.unlink"))
_WRITES = {
    "shutil.copy": (1, "dst"),
    "shutil.copy2": (1, "dst"),
    "shutil.copyfile": (1, "dst"),
    "shutil.copytree": (1, "dst"),
    "shutil.unpack_archive": (1, "extract_dir"),
    "os.symlink": (1, "dst"),
    "os.link": (1, "dst"),
    "os.mkdir": (0, "path"),
    "os.makedirs": (0, "name"),
    "os.mknod": (0, "path"),
    "os.mkfifo": (0, "path"),
    "os.chmod": (0, "path"),
    "os.chown": (0, "path"),
    "urllib.request.urlretrieve": (1, "filename"),
    "shelve.open": (0, "filename"),
    "dbm.open": (0, "file"),
    "logging.FileHandler": (0, "filename"),
}
"""Position and name of the parameter with the written path."""
_PATH_WRITES = frozenset(names("write_text write_bytes touch mkdir symlink_to hardlink_to"))
_PATH_READS = frozenset(names("read_text read_bytes open"))
_READS = re.compile(
    r"(?:fileinput\.(?:input|FileInput)|glob\.i?glob|shutil\.(?:copy\w*|move)|os\.open)"
).fullmatch
_LOADS = re.compile(
    r"(?:read|load|open)\w*|\w*_(?:open|values)|getlines?|connect|ZipFile|TarFile|run_path|i?glob"
    r"|parse"
).fullmatch
_NAMES_OF_FILES = frozenset(names("file path filename fname dotenv_path filepath files src"))
_SHAPED = re.compile(r"[\w.~/*?\[\]{}+@ -]{1,300}")
_WRITING_FLAGS = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)")


def on_files(node: ast.Call, path: str, reader: PathReader) -> Iterator[Answer]:
    """Yield findings and commands for a call of the function `path` ("": unknown)."""
    if path == "os.chmod":
        mode = constant(argument(node, 1, "mode"))
        if isinstance(mode, int) and mode & 0o6000:
            yield ask("setuid", "Python sets the setuid or setgid bit")
    if path in _REMOVES:
        yield from _removed(argument(node, 0, "path"), reader, tree=path == "shutil.rmtree")
    elif path in _MOVES:
        words = [reader.path(argument(node, at, name)) for at, name in enumerate(("src", "dst"))]
        if None not in words:
            yield run(["mv", "--", *map(str, words)])
    elif path in _OPENS:
        yield from _opened(node, reader.path(argument(node, 0, "file")))
    else:
        yield from _loaded(node, path, reader)
    for written in _written(node, path, reader.names):
        if (target := reader.path(written)) is not None:
            yield _write_to(target)


def _loaded(node: ast.Call, path: str, reader: PathReader) -> Iterator[Answer]:
    """Yield files opened by functions with telling names: `pandas.read_csv(path)`."""
    if isinstance(node.func, ast.Attribute):
        yield from _on_path(node.func, reader)
    if not (_READS(path) or _LOADS(path.rpartition(".")[2])):
        return
    named = (given.value for given in node.keywords if given.arg in _NAMES_OF_FILES)
    for given in (*node.args[:1], *named):
        for item in given.elts if isinstance(given, ast.List | ast.Tuple) else (given,):
            text = reader.path(item)
            if text is not None and _SHAPED.fullmatch(text):
                yield from _shown(text)


def _on_path(method: ast.Attribute, reader: PathReader) -> Iterator[Answer]:
    """Yield what `Path(text).unlink()` removes and `Path(text).read_text()` shows."""
    if method.attr == "unlink":
        yield from _removed(method.value, reader, tree=False)
    elif method.attr in _PATH_READS:
        yield from _shown(reader.path(method.value))


def _removed(node: ast.expr | None, reader: PathReader, *, tree: bool) -> Iterator[Answer]:
    for target in reader.paths(node):
        yield run(["rm", "-rf" if tree else "-f", "--", target])
    if node is not None and "sys.argv" in ast.unparse(node):
        yield ask("code_danger", "Python deletes what its arguments name")


def _shown(path: str | None) -> Iterator[Answer]:
    if path is not None:
        yield script(f": < {shlex.quote(path)}")


def _written(node: ast.Call, path: str, names: dict[str, str]) -> Iterator[ast.expr | None]:
    """Yield the expressions of the paths that a call writes."""
    if where := _WRITES.get(path):
        yield argument(node, *where)
    elif path == "os.open":
        flags = argument(node, 1, "flags")
        if flags is not None and _WRITING_FLAGS.search(ast.unparse(flags)):
            yield argument(node, 0, "path")
    elif path == "fileinput.input":
        if argument(node, 1, "inplace") is not None:
            files = argument(node, 0, "files")
            yield from (ast.Constant(word) for word in words_of(files) or ())
            yield files
    elif isinstance(node.func, ast.Attribute):
        yield from _by_method(node, node.func, names)


def _by_method(
    node: ast.Call, function: ast.Attribute, names: dict[str, str]
) -> Iterator[ast.expr | None]:
    """Yield what `Path(text).write_text(...)` and `archive.extractall(text)` write."""
    if function.attr == "extractall":
        yield argument(node, 0, "path")
        return
    called = dotted(function, names)
    if called in _OPENS or called in _MOVES:
        return
    mode = constant(argument(node, 0, "mode")) if function.attr == "open" else None
    if function.attr in _PATH_WRITES or (isinstance(mode, str) and _writes(mode)):
        yield function.value


def _writes(mode: str) -> bool:
    return len(mode) < 4 and bool(set(mode) & set("wa+x"))


def _opened(node: ast.Call, name: str | None) -> Iterator[Answer]:
    given = argument(node, 1, "mode")
    mode = "r" if given is None else constant(given)
    if isinstance(mode, str) and any(letter in mode for letter in "wa+x"):
        if name is not None:
            yield _write_to(name)
    else:
        yield from _shown(name)


def _write_to(target: str) -> Answer:
    return script(f"cat > {shlex.quote(target)}", stdin=Stream(None))
