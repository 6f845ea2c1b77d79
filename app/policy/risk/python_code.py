"""Python program texts, parsed as a syntax tree, so that names in strings are not calls."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Generator, Iterator

from app.policy.risk.call import UNKNOWN, Answer, Stream, ask, names, run, script, vaguely
from app.policy.risk.python_files import on_files
from app.policy.risk.python_names import (
    IMPORTS,
    PROCESS,
    constant,
    dotted,
    loose_modules,
)
from app.policy.risk.python_paths import PathReader
from app.policy.risk.python_requests import request_set, requests_of

_DELETING = frozenset(
    names(
        "os.remove os.unlink os.rmdir os.removedirs os.truncate shutil.rmtree "
        "pathlib.Path.unlink pathlib.Path.rmdir send2trash.send2trash"
    )
)
_SHELL = re.compile(r"\b(?:ba|da|z)?sh\b|cmd\.exe|powershell")
_PLATFORM = re.compile(r"^(?:posix|nt)\.")
_DYNAMIC = frozenset(
    names(
        "exec eval compile __import__ importlib.import_module importlib.__import__ "
        "getattr runpy.run_path runpy.run_module marshal.loads pickle.loads "
        "pickle.load code.interact types.FunctionType types.CodeType builtins.exec "
        "builtins.eval globals locals vars execfile os.__getattribute__ "
        "operator.attrgetter operator.methodcaller"
    )
)
_RUNS_CODE = frozenset(names("exec builtins.exec marshal.loads types.CodeType"))
_DECODES = re.compile(
    r"b(?:16|32|64|85)decode|unhexlify|fromhex|decompress|codecs\.|\bchr\(|\[::-1\]|rot13|maketrans"
)
_HARMFUL = re.compile(r"rmtree|unlink|remove|system|subprocess|socket|exec|eval|popen|urlopen")
_CHANGES = re.compile(r"\s*(?:drop|truncate|delete|alter|update)\b", re.IGNORECASE)
_SQL = frozenset(names("execute executemany executescript exec_driver_sql"))
_POWER = frozenset(
    names(
        "os.dup2 "
        "pty.spawn os.kill os.killpg os.fork os.forkpty os.abort ctypes.CDLL ctypes.PyDLL "
        "ctypes.cdll.LoadLibrary ctypes.pydll.LoadLibrary ctypes.util.find_library "
        "_posixsubprocess.fork_exec cffi.FFI _ctypes.dlopen"
    )
)
_LOSES = frozenset(
    names(
        "flushall flushdb drop_database drop_collection drop_all remove_tree ftruncate "
        "delete_many delete_bucket delete_object delete_objects delete_table delete_stack "
        "delete_db_instance terminate_instances delete_function delete_queue delete_topic "
        "delete_secret"
    )
)
"""Methods of clients that delete stored data, on any object."""
_GIT_FORCE = re.compile(r"--(?:hard|force|force-with-lease|mirror|delete)|-[a-z]*[fD][a-z]*")
_RUNS_TEXT = frozenset(
    names("timeit.timeit timeit.repeat timeit.main pdb.run cProfile.run profile.run trace.run")
)
_MODULES = frozenset(names("os subprocess shutil pty ctypes importlib builtins posix nt"))
_SUSPECT = re.compile(
    r"import|__|open|write|copy|link|chmod|extractall|timeit|exec|eval|compile|getattr|globals|"
    r"locals|vars|unlink|rmdir|rmtree|remove|system|modules|execute|drop_all"
    r"|[^\x00-\x7f]"
)
_LOOKS_UP = re.compile(r"getattr|__dict__|__builtins__|globals|vars|import|modules")
_MAX, _MAX_FILE = 40_000, 64_000


def assess_python(text: str, *, is_file: bool = False) -> Iterator[Answer]:
    """Yield findings for a program; asks if it does not parse.

    Args:
        is_file: it is a file, not a command or notebook.
    """
    if not is_file:
        text = yield from _commands(text)
    if not _SUSPECT.search(text):
        return
    tree = _parsed(text, is_file=is_file)
    if tree is None:
        yield from _unparsed(text)
        return
    nodes = _every_node(tree)
    names = _imports(nodes)
    for module in loose_modules(nodes, names, _MODULES):
        yield vaguely("opaque_code", f"Python passes {module} on as a value")
    reader = PathReader(nodes, names)
    for node in nodes:
        yield from _of_node(node, names, reader)


def _of_node(node: ast.AST, names: dict[str, str], reader: PathReader) -> Iterator[Answer]:
    if isinstance(node, ast.Call):
        yield from _call(node, names, reader)
    elif isinstance(node, ast.Assign):
        yield from request_set(node, reader)
    elif isinstance(node, ast.Attribute | ast.Name):
        for answer in _reference(node, names):
            if id(node) not in reader.shown:
                yield answer


def _commands(text: str) -> Generator[Answer, None, str]:
    """Yield the lines that a notebook passes to a shell; return the rest."""
    for line in re.findall(r"(?m)^\s*(?:!|%(?:sx|system)\s|%(?=(?:rm|rmdir|mv)\b))(.+)$", text):
        yield script(line)
    return re.sub(r"(?m)^\s*!.+$", "pass", text)


_COMPOUND = r"(?:for|while|if|elif|else|try|except|finally|with|def|class|async)\b"
_TEXT = re.compile(
    r"\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|"
    r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|#[^\n]*",
    re.DOTALL,
)
_BEHIND_SEMICOLON = re.compile(rf";[ \t]*{_COMPOUND}")
_HOLDS_CODE = re.compile(r"\b[A-Za-z]{0,2}[fFtT][A-Za-z]?['\"]")


def _cannot_run(text: str) -> bool:
    """Return whether no Python accepts `text`: a compound statement after a semicolon never parses.

    Python parses a program as a whole, so nothing of it runs. Other errors may be the grammar of
    another version.
    """
    if _HOLDS_CODE.search(text):
        return False
    return _BEHIND_SEMICOLON.search(_TEXT.sub("''", text)) is not None


def _unparsed(text: str) -> Iterator[Answer]:
    if not _cannot_run(text):
        hit = ask("opaque_code", "Python code cannot be parsed")
        # It ends in a syntax error, unless a newer Python accepts it.
        yield hit._replace(vague=not _HARMFUL.search(text))


def _parsed(text: str, *, is_file: bool) -> ast.Module | None:
    if len(text) > (_MAX_FILE if is_file else _MAX):
        return None
    lines = text.split("\n")
    if not is_file:
        lines = [line for line in lines if not line.lstrip().startswith("%")]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse("\n".join(lines) if len(lines) > 1 else text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _every_node(tree: ast.Module) -> list[ast.AST]:
    """In the order of `ast.walk`, in half of its time."""
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        for name in node._fields:
            held = getattr(node, name, None)
            if isinstance(held, ast.AST):
                nodes.append(held)
            elif type(held) is list:
                nodes += [one for one in held if isinstance(one, ast.AST)]
    return nodes


def _imports(nodes: list[ast.AST]) -> dict[str, str]:
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    names |= _star(node.module or "")
                else:
                    names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Name | ast.Attribute | ast.Call)
            and (not isinstance(node.value, ast.Call) or dotted(node.value.func, names) in IMPORTS)
            and (path := dotted(node.value, names))
        ):
            names[node.targets[0].id] = path
    return names


def _star(module: str) -> dict[str, str]:
    known = {
        *_DELETING,
        "subprocess.run",
        "subprocess.Popen",
        "os.system",
        "os.popen",
        "subprocess.call",
        "ctypes.CDLL",
        "ctypes.PyDLL",
        "ctypes.cdll",
        "ctypes.pydll",
    }
    return {path.rsplit(".", 1)[1]: path for path in known if path.rsplit(".", 1)[0] == module}


def _call(node: ast.Call, names: dict[str, str], reader: PathReader) -> Iterator[Answer]:
    path = _PLATFORM.sub("os.", dotted(node.func, names))
    yield from on_files(node, path, reader)
    yield from requests_of(node, path, names, reader)
    if PROCESS.match(path):
        yield from _process(node, path, reader)
        if "socket" in names.values() and node.args and _SHELL.search(ast.unparse(node.args[0])):
            yield ask("remote_shell", "Python gives a shell to the network")
    elif path in _DYNAMIC:
        yield from _dynamic(node, path, names)
    elif path in _POWER:
        yield vaguely("code_danger", f"Python calls {path}")
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _SQL and node.args:
        yield from _sql(node)
    elif isinstance(node.func, ast.Attribute) and _loses(node, node.func, names):
        yield ask("code_danger", f"Python calls {node.func.attr}")
    elif path in _RUNS_TEXT:
        values = [constant(item) for item in (*node.args, *(each.value for each in node.keywords))]
        yield from (script(text, "python") for text in values if isinstance(text, str))
    elif (
        not path
        and isinstance(node.func, ast.Call | ast.Subscript)
        and not _names_a_harmless(node.func, names)
        and _LOOKS_UP.search(ast.unparse(node.func))
    ):
        yield vaguely("opaque_code", "Python calls a function that is resolved at run time")


def _loses(node: ast.Call, function: ast.Attribute, names: dict[str, str]) -> bool:
    if function.attr in _LOSES:
        return True
    if function.attr == "delete" and "boto3" in names.values():
        return True
    if function.attr == "truncate":
        return isinstance(function.value, ast.Call) and (
            dotted(function.value.func, names) in {"open", "io.open"}
        )
    # GitPython: `repo.git.reset("--hard")`.
    return (
        isinstance(function.value, ast.Attribute)
        and function.value.attr == "git"
        and any(_GIT_FORCE.fullmatch(str(constant(given))) for given in node.args)
    )


def _reference(node: ast.Attribute | ast.Name, names: dict[str, str]) -> Iterator[Answer]:
    """Report deleting functions where they are named, including passing them on."""
    path = _PLATFORM.sub("os.", dotted(node, names))
    if path in _DELETING or (
        isinstance(node, ast.Attribute) and node.attr in {"unlink", "rmdir", "rmtree"}
    ):
        yield vaguely("code_danger", f"Python uses {path or getattr(node, 'attr', '')}")
    elif isinstance(node, ast.Attribute) and _unknown_module(node, names):
        yield vaguely("opaque_code", f"Python uses {node.attr} of a module resolved at run time")
    elif isinstance(node, ast.Attribute) and node.attr in {
        "__subclasses__",
        "__globals__",
        "__builtins__",
    }:
        yield vaguely("opaque_code", f"Python reaches {node.attr}")


def _unknown_module(node: ast.Attribute, names: dict[str, str]) -> bool:
    """Return whether a module is looked up: `sys.modules["os"].remove`,
    `import_module(name).remove`.
    """
    base = node.value
    if isinstance(base, ast.Subscript):
        return dotted(base.value, names) == "sys.modules"
    return (
        isinstance(base, ast.Call)
        and not dotted(base, names)
        and dotted(base.func, names) in IMPORTS
    )


def _process(node: ast.Call, path: str, reader: PathReader) -> Iterator[Answer]:
    argument = (
        node.args[0]
        if node.args
        else next(
            (
                keyword.value
                for keyword in node.keywords
                if keyword.arg in {"args", "cmd", "command"}
            ),
            None,
        )
    )
    words = reader.words(argument)
    if path.startswith("sh."):
        values = [constant(argument) for argument in node.args]
        yield run([path[3:], *(v if isinstance(v, str) else UNKNOWN for v in values)])
        return
    if path.startswith(("os.exec", "os.spawn", "pexpect", "os.posix")) or "subprocess_exec" in path:
        values = [constant(argument) for argument in node.args]
        words = None
        if "subprocess_exec" in path and all(isinstance(value, str) for value in values):
            words = [str(value) for value in values]
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if "executable" in given:
        yield ask(
            "opaque_code", f"Python passes the program of {path} separately from its arguments"
        )
    if words and "shell" in given and constant(given["shell"]) is not False:
        yield script(words[0])
    elif words:
        yield run(words, stdin=_fed(given))
    elif isinstance(text := constant(argument), str):
        yield script(text, stdin=_fed(given))
    else:
        hit = ask("opaque_code", f"Python runs a command through {path}")
        yield hit._replace(vague=not _is_hidden(argument, reader))


def _is_hidden(argument: ast.expr | None, reader: PathReader) -> bool:
    """Return whether a command is decoded before it runs."""
    if isinstance(argument, ast.Name):
        argument = reader.values.get(argument.id, argument)
    return argument is not None and _DECODES.search(ast.unparse(argument)) is not None


def _fed(given: dict[str | None, ast.expr]) -> Stream | None:
    """Return the input passed to another program by `input=` or `stdin=`."""
    if "input" in given:
        text = constant(given["input"])
        text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        return Stream(text if isinstance(text, str) else None)
    return Stream(None) if "stdin" in given else None


def _dynamic(node: ast.Call, path: str, names: dict[str, str]) -> Iterator[Answer]:
    first = constant(node.args[0]) if node.args else None
    if path in {"globals", "locals", "vars"}:
        return
    if path == "getattr":
        name = constant(node.args[1]) if len(node.args) > 1 else None
        base = dotted(node.args[0], names) if node.args else ""
        if base.split(".")[0] in _MODULES and (
            not isinstance(name, str) or not _harmless(base, name)
        ):
            yield vaguely("opaque_code", "Python resolves a function at run time")
    elif path in {"__import__", "importlib.import_module", "importlib.__import__"}:
        if not isinstance(first, str):
            yield vaguely("opaque_code", "Python imports a module that is not named in the code")
    elif path == "pickle.load" and _from_file(node, names):
        return
    elif path in {"exec", "eval", "compile", "builtins.exec", "builtins.eval"} and isinstance(
        first, str
    ):
        yield script(first, "python")
    else:
        hit = ask("opaque_code", f"Python runs code through {path}")
        yield hit._replace(vague=path not in _RUNS_CODE)


_ELSEWHERE = frozenset(
    names(
        "sys io os urllib requests httpx aiohttp socket http base64 zlib binascii ftplib subprocess"
    )
)
_OPENERS = re.compile(
    r"(?:open|gzip\.open|bz2\.open|lzma\.open|Path\(.*\)\.open|pathlib\.Path\(.*\)\.open)\("
)


def _from_file(node: ast.Call, names: dict[str, str]) -> bool:
    """Return whether the unpickled data is a file of the project."""
    if len(node.args) != 1 or node.keywords:
        return False
    if _OPENERS.match(ast.unparse(node.args[0])):
        return True
    roots = {path.split(".")[0] for path in names.values()}
    return isinstance(node.args[0], ast.Name) and _ELSEWHERE.isdisjoint(roots)


def _names_a_harmless(function: ast.expr, names: dict[str, str]) -> bool:
    """Return whether it is an attribute of a harmless module: `getattr(json, "dumps")`."""
    if not isinstance(function, ast.Call) or dotted(function.func, names) != "getattr":
        return False
    base, name = dotted(function.args[0], names), constant(function.args[1])
    root = base.split(".")[0]
    return root in names.values() and root not in _MODULES and isinstance(name, str)


def _harmless(base: str, name: str) -> bool:
    path = f"{base}.{name}"
    return path not in _DELETING and not PROCESS.match(path) and path not in _DYNAMIC


def _sql(node: ast.Call) -> Iterator[Answer]:
    given = node.args[0]
    if isinstance(given, ast.Call) and given.args:
        given = given.args[0]  # `text("DROP …")` of SQLAlchemy.
    text = constant(given)
    if isinstance(text, str) and re.match(
        r"\s*(?:drop|truncate|delete|alter|update)\b", text, re.IGNORECASE
    ):
        yield script(text, "sql")
