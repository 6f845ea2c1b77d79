"""Assessment of program texts in other languages, as far as their text reveals."""

from __future__ import annotations

import re
import shlex
from collections.abc import Generator, Iterator
from functools import lru_cache
from itertools import islice

from app.policy.risk.call import UNKNOWN, Answer, Stream, ask, run, script
from app.policy.risk.code_requests import deletes_by_request
from app.policy.risk.code_secrets import secrets_in_code
from app.policy.risk.code_strings import read_code
from app.policy.risk.node_children import literal_children
from app.policy.risk.python_code import assess_python
from app.policy.risk.sql import assess_sql

_DANGER: dict[str, str] = {
    "node": r"\b(?:rm|rmSync|rmdir|rmdirSync|unlink|unlinkSync|rimraf|truncate|truncateSync|"
    r"removeSync|emptyDir\w*)\s*\(|\b(?:fs\w*|jetpack)\s*\.\s*remove\s*\(|"
    r"(?:fs-extra|jetpack).{0,400}\bremove\s*\(|\b(?:unlinkSync|rmSync|rmdirSync|truncateSync)\b"
    r"|[{,]\s*(?:rm|unlink|rmdir|truncate|remove)\b[^}]*\}\s*(?:=|from\b)|\bWorker\b.*\beval\s*:"
    r"|child_process|\b(?:exec|execSync|execFile|execFileSync|spawn|spawnSync|"
    r"fork)\s*\(|(?<!typeof )\beval\b(?!\s*:)|new\s+Function|\bFunction\b\s*\)?\s*\("
    r"|process\.(?:kill|binding|dlopen)|\bvm\.|Deno\.(?:remove|run|Command)|"
    r"Bun\.(?:spawn|\$)|\bgetRuntime\b|\bProcessBuilder\b|globalThis\s*\[|\bimport\s*\(\s*(?!\.[\w@./-])"
    r"|constructor\s*\[|\.constructor\s*(?:\(|\.constructor)|runIn\w*Context|"
    r"\.(?:del|trash|rimraf|execa|cross-spawn|shelljs|vm)\(\)|\$`|\[[^\]\n]{0,200}\+[^\]\n]{0,200}\]\s*\(",
    "perl": r"\b(?:unlink|rmdir|system|exec|qx|rmtree|remove_tree|truncate|kill|eval|do|"
    r"syscall|fork)\b(?!\s*=>)|`"
    r"|&\s*[$]|POSIX::(?:remove|unlink|rmdir)|"
    r"\bopen\b[^;]*\||File::(?:Path|Remove)|IPC::|\bs(\W)(?>(?:\\.|(?!\1)[^\\\n]){0,200})\1(?>(?:\\.|(?!\1)[^\\\n]){0,200})\1\w*e\w*e",
    "ruby": r"FileUtils|\bFiddle\b|\bmethod\s*\(|"
    r"\b(?:File|Dir|Pathname|IO)\s*\.\s*(?:delete|unlink|rmdir|truncate|popen)|\b(?:system|exec|spawn|fork|eval|"
    r"instance_eval|class_eval|send|public_send|__send__|syscall|rm_rf|rm_r|rm)\b|`|"
    r"%x|Open3|Kernel|PTY|\.(?:unlink|rmtree)\b|Process\.kill"
    r"|\b(?!(?:ENV|Set|Hash|Array)\b)[A-Z]\w{0,60}[.\[(][^;\n]{0,200}\.delete\b"
    r"|\b(?:Pathname|Tempfile|Dir)\b.{0,400}\.delete\b"
    r"|const_get|\b(?:File|Dir|FileUtils)\b(?!\s*(?:\.|::|\[))",
    "lua": r"(?<!\btable)\.\s*(?:remove|execute|popen)\b|os\s*\.\s*(?:remove|execute|rename)"
    r"|\brmdir\b|io\s*\.\s*popen|\b(?:load|loadstring|"
    r"dofile|loadfile)\b|os\s*\[",
    "php": r"\b(?:unlink|rmdir|exec|shell_exec|system|passthru|proc_open|popen|pcntl_exec|"
    r"eval|assert|ftruncate|create_function|"
    r"call_user_func\w*|(?:include|require)(?:_once)?(?!\w|\s*\(?\s*(?:__DIR__\s*\.\s*)?\"\"\s*\)?\s*;))\b\s*\(?|`|\$\w+\s*\(",
    "R": r"\b(?:install_(?:github|gitlab|bitbucket|git|url|svn)|"
    r"unlink|file\.remove|(?:file|dir)_delete|system2?|shell|eval|source)\s*\(",
    "applescript": r"do shell script|\bdelete\b|empty.{0,8}trash|shut down|restart|keystroke",
    "julia": r"\bPkg\.(?:add|develop)\s*\(\s*(?:url|Pkg)|"
    r"\b(?:rm|run|eval|include_string)\s*\(|`|ccall",
    "elixir": r"File\.rm|System\.(?:cmd|shell|stop|halt)|:os\.cmd|Code\.eval|Port\.open|:file\.del",
    "erlang": r"os:cmd|file:del|open_port|init:stop",
    "groovy": r"\.execute\(|\.delete\w*\(|ProcessBuilder|Runtime|evaluate",
    "scala": r"sys\.process|\.delete\w*|ProcessBuilder|Runtime|Files\.",
    "clojure": r"\bsh\b|delete-file|fs/delete|eval|ProcessBuilder|Runtime",
    "haskell": r"remove(?:File|Directory|Path)|system|callCommand|readProcess|createProcess|unsafe",
    "scheme": r"system|delete-(?:file|directory)|eval|primitive-load|rmdir|popen|open-pipe",
    "lisp": r"delete-(?:file|directory)|shell-command|call-process|start-process|run-program|"
    r"\beval\b|kill-emacs.*-1",
    "tcl": r"\bexec\b|file\s+delete|\beval\b|\bspawn\b|\bopen\b[^\n]*\||\bsystem\b",
    "octave": r"\b(?:delete|system|unlink|rmdir|shell_cmd|dos|unix|eval|popen)\b",
    "gnuplot": r"\bsystem\b|!|`|\|",
    "prolog": r"\b(?:shell|delete_\w+|process_create|consult)\b",
    "dc": r"!",
    "m4": r"\be?syscmd\b",
    "java": r"\.delete\w*\s*\(|\bexec\s*\(|ProcessBuilder|Runtime",
    "ocaml": r"Sys\.(?:remove|rename|command)|Unix\.",
    "nim": r"remove(?:File|Dir)|execShellCmd|execCmd|execProcess|startProcess|staticExec",
    "csharp": r"\.Delete\w*\s*\(|Process\.Start|ProcessStartInfo|DllImport|Assembly\.Load",
    "swift": r"removeItem|Process\(|system\(|unlink\(|rmdir\(",
}
_PATTERNS = {language: re.compile(pattern, re.DOTALL) for language, pattern in _DANGER.items()}

_QUOTED_TEXT = r"\"((?:[^\"\\\n]|\\.)*)\""
_COMPILED_STARTS = {
    "rust": re.compile(
        rf"\bCommand::new\s*\(\s*{_QUOTED_TEXT}\s*\)(?P<more>(?:\s*\.\s*args?\([^;]*?\))*)"
    ),
    "go": re.compile(
        rf"\bexec\.Command(?:Context)?\s*\((?:\s*\w+\s*,)?\s*{_QUOTED_TEXT}(?P<more>[^;\n]*)"
    ),
}
_COMPILED_REMOVES = {
    "rust": re.compile(rf"\bremove_(?P<all>dir_all|file|dir)\s*\(\s*{_QUOTED_TEXT}"),
    "go": re.compile(rf"\bos\.Remove(?P<all>All)?\s*\(\s*{_QUOTED_TEXT}"),
}
_COMPILED_WRITES = {
    "rust": re.compile(rf"\b(?:fs::write|File::create)\s*\(\s*{_QUOTED_TEXT}"),
    "go": re.compile(rf"\bos\.(?:WriteFile|Create)\s*\(\s*{_QUOTED_TEXT}"),
}
_ANY_TEXT = re.compile(_QUOTED_TEXT)
_UNTOLD = re.compile(r"\.args?\(\s*(?![\s\[&\"])|,\s*[A-Za-z_]")
COMPILED = frozenset(_COMPILED_STARTS)


LANGUAGES = frozenset([*_DANGER, *COMPILED, "python", "sql", "mysql"])
"""Languages of programs that can be parsed."""
_HIDES = re.compile(
    r"\beval\s*\(\s*(?:Buffer|atob|base64|unpack|gzinflate|fetch|await)|\brunIn\w*Context|\bdlopen\b"
    r"|\beval\s*\(\s*\$_(?:GET|POST|REQUEST)|new\s+Function\s*\(\s*(?:atob|Buffer)"
)
"""Code decoded or fetched before it runs, which is never accidental."""
_MAX, _MAX_NODE = 16_000, 40_000
PYTHON_FILE = "python file"
"""Python in a file, where a line is not a notebook command."""
_SHELL_CALL = re.compile(
    r"\b(?:execSync|(?<!/\.)(?<!/[gimsuy]\.)(?<!/[gimsuy]{2}\.)exec|system|popen|os\.execute|io\.popen|shell_exec|passthru|qx|"
    r"do shell script)\s*\(?\s*"
    r"(\"(?:[^\"\\\n$#]|\\.)*\"|'(?:[^'\\\n]|\\.)*')\s*[,);}\n]?\s*(?=[);}\n]|$)",
)


MAX_KEPT = 4_096
"""Longest program, in characters, whose findings are cached."""


def code_answers(language: str, text: str) -> tuple[Answer, ...]:
    """Return the findings of `assess_code`, cached for programs of usual size."""
    if language == PYTHON_FILE:
        return _kept_file(language, text)
    return (
        kept_code(language, text) if len(text) <= MAX_KEPT else tuple(assess_code(language, text))
    )


@lru_cache(maxsize=64)
def _kept_file(language: str, text: str) -> tuple[Answer, ...]:
    """Return cached findings of a file: files are longer, and often run repeatedly."""
    return tuple(assess_code(language, text))


@lru_cache(maxsize=256)
def kept_code(language: str, text: str) -> tuple[Answer, ...]:
    return tuple(assess_code(language, text))


def assess_code(language: str, text: str) -> Iterator[Answer]:
    """Yield findings for `text`, a program in `language`; its shell commands become payloads."""
    spaced = _LONG_BLANK.sub(_short_blank, text)
    if len(text) <= _MAX:
        yield from secrets_in_code(language.removesuffix(" file"), spaced)
        if not language.startswith("python"):
            yield from deletes_by_request(language, spaced)
    if language == "python":
        yield from assess_python(text)
    elif language == PYTHON_FILE:
        yield from assess_python(text, is_file=True)
    elif language in {"sql", "mysql"}:
        yield from assess_sql(text, mysql=language == "mysql")
    elif len(text) > (_MAX_NODE if language == "node" else _MAX):
        yield ask("opaque_code", f"{language} code is too long to analyze")
    elif language in COMPILED:
        yield from assess_compiled(language, spaced)
    elif language in _PATTERNS:
        yield from _scan(language, spaced)
    else:
        yield ask("opaque_code", f"runs {language} code that is not analyzed")


_LONG_BLANK = re.compile(r"\s{200,}")
"""Text on which patterns with optional blanks would backtrack."""


_ENDS_LINE = re.compile(r"[\n\r\u2028\u2029]")


def _short_blank(found: re.Match[str]) -> str:
    return "\n" if _ENDS_LINE.search(found[0]) else " "


def _children(text: str) -> Generator[Answer, None, str]:
    """Yield the programs that a Node text starts; return the text without them."""
    children = literal_children(text)
    if children is None:
        return text
    yield from children.started
    return children.rest


def _scan(language: str, text: str) -> Iterator[Answer]:
    if language == "node":
        text = yield from _children(text)
        if not _STARTS_PROGRAMS.search(text):
            # Only a regular expression may have this as a method.
            text = re.sub(r"\.exec\s*\(", ".match(", text)
        for call in _LISTED_CALL.finditer(text):
            words = [call["program"], *_LITERAL.findall(call["words"])]
            yield run([word[1:-1] for word in words])
    for call in _SHELL_CALL.finditer(text):
        yield script(call.group(1)[1:-1].replace('\\"', '"').replace("\\'", "'"))
    yield from (script(line) for line in _TCL_STARTS.findall(text) if language == "tcl")
    if _SOCKET.search(text) and _A_SHELL.search(text):
        yield ask("remote_shell", f"{language} code gives a shell to the network")
    read = read_code(language, _without_shell_calls(text))
    if language in _QUOTING_COMMANDS:
        yield from (script(command) for command in _QUOTED_COMMAND.findall(read.code))
        read.code = _QUOTED_COMMAND.sub('""', read.code)
    yield from _to_paths(language, text, read.texts)
    yield from _held_danger(language, text, read.texts)
    match = _PATTERNS[language].search(read.code)
    if not match and not read.certain:
        match = _PATTERNS[language].search(text)
    if match:
        what = match.group().strip()[:40] or "code"
        hit = ask("code_danger", f"{language} code uses {what}")
        yield hit._replace(vague=not _HIDES.search(read.code))
        yield from _removed_paths(text)
        yield from _removed_names(text)
        if language in {"perl", "ruby", "php"}:
            yield from (script(inner) for inner in re.findall(r"`([^`$#\n]+)`", text))


_TCL_STARTS = re.compile(r"\b(?:exec|spawn|system)\s+(?:--?\w+\s+)*([^\n;\]$]+)")
_STARTS_PROGRAMS = re.compile(
    r"child_process|shelljs|execa|\bzx\b|\bBun\b|\bDeno\b|globalThis|\beval\b|Function|"
    r"\.constructor|binding|mainModule|getBuiltinModule|dlopen|"
    r"\b(?:require|import)(?!\s*\(\s*(?P<quote>['\"])[\w@./:-]+(?P=quote)\s*\)|\s+[\w{*'\"])"
)
"""Calls by which a Node program may start another one."""
_LITERAL = re.compile(r"\"[^\"\\\n]*\"|'[^'\\\n]*'")
_LISTED_CALL = re.compile(
    rf"\b(?:spawn|spawnSync|execFile|execFileSync)\s*\(\s*(?P<program>{_LITERAL.pattern})\s*,\s*"
    rf"\[(?P<words>\s*(?:(?:{_LITERAL.pattern})\s*(?:,\s*(?:{_LITERAL.pattern})\s*)*,?\s*)?)\]\s*"
    r"(?:,\s*\{(?![^}]*\b(?:shell|input|stdio|argv0)\b)[\w\s:,'\"]*\}\s*)?\)"
)
"""Call whose program and words are all literal, and that feeds no input."""
_QUOTING_COMMANDS = frozenset(["perl", "ruby", "php"])
_QUOTED_COMMAND = re.compile(r"`([^`\"'#$@\\\n]+)`")
"""Command in backticks without substitutions."""
_LOADS_FAR = re.compile(
    r"\b(?:import|include|require)(?:_once)?\b[^;'\"]{0,200}['\"](?:[a-z.]+://|data:)"
)
_SURELY_FAR = re.compile(
    r"\b(?:import|include|require)(?:_once)?\s*\(?\s*(?:[\w*{}\s,]{1,200}\bfrom\s*)?"
    r"['\"](?:(?!file:)[a-z.]+://|data:)"
)
_SOCKET = re.compile(r"\bSocket\b|TCPSocket|fsockopen|net\.(?:connect|Socket)")
_A_SHELL = re.compile(r"\b(?:ba|da|z)?sh\b")
_WRITES = re.compile(
    r"\b(?:writeFile\w*|appendFile\w*|createWriteStream|file_put_contents|"
    r"(?:File|IO)\.(?:bin)?write)\s*\(?\s*(['\"])(?P<path>[^'\"\n]+)\1"
)
_READS = re.compile(
    r"\b(?:readFile\w*|createReadStream|file_get_contents|readfile|(?:File|IO)\.(?:bin)?read\w*|"
    r"(?:File|IO)\.foreach)\s*+\(?\s*+(?P<home>process\.env\.HOME\s*\+\s*|Dir\.home\s*\+\s*)?"
    r"(['\"])(?P<path>[^'\"\n]+)\2"
)
_OPENS = re.compile(
    r"(?:\b(?:openSync|fopen|fs\.open|promises\.open|io\.(?:open|lines)|(?:File|IO)\.(?:open|new)|"
    r"copyFile\w*|cpSync|dofile|loadfile|include(?:_once)?|path\s*:|config)|(?<![\w.$])(?:open|file))"
    r"\s*[({]?\s*(?:path\s*:\s*)?(['\"])(?P<path>[^'\"\n]{1,300})\1"
)
_PERL_READ = re.compile(
    r"\bopen\b\s*\(?\s*(?:my\s+)?[$\w]+\s*,\s*(?:(['\"])\s*<[^'\"]{0,40}\1\s*,\s*)?"
    r"(['\"])\s*<?\s*(?P<path>[^'\"\n<>|]{1,300})\2"
)
_UNNAMED_READS = re.compile(
    r"\b(?:readFile\w*|createReadStream|file_get_contents|readfile|fopen|"
    r"(?:File|IO)\.(?:open|(?:bin)?read\w*))\s*\(?\s*[A-Za-z_$]"
)
_PATH_SHAPE = re.compile(r"[\w~/.-]*[./][\w/.-]+")
_UNNAMED_WRITES = re.compile(
    r"\b(?:writeFile\w*|appendFile\w*|createWriteStream|file_put_contents|"
    r"(?:File|IO)\.(?:bin)?write)\s*\(?\s*[A-Za-z_$]"
)
_OPENED = re.compile(
    r"(?:\b(?:openSync|fopen|fs\.open|promises\.open|io\.open|(?:File|IO)\.(?:open|new))|"
    r"(?<![\w.])open)\s*\(?\s*(['\"])(?P<path>[^'\"\n]*)\1\s*,\s*(['\"])"
    r"(?P<mode>[^'\"\n]{1,4})\3"
)
_TO = re.compile(
    r"\b(?P<verb>copyFile\w*|cpSync|cp|copy|symlink\w*|link\w*|rename\w*|move)\s*\(?\s*"
    r"(['\"])(?P<source>[^'\"\n]*)\2\s*,\s*(['\"])(?P<target>[^'\"\n]*)\4"
)
_PERL_OPEN = re.compile(
    r"\bopen\b[^;]*?,\s*(['\"])\s*\+?[<>]?>>?(?::[\w:()-]+)?\s*"
    r"(?:\1\s*,\s*(['\"]))?(?P<path>[^'\"\n]+)['\"]"
)
_PIPED_OPEN = re.compile(r"\bopen\b[^;]*['\"]\s*\||\bopen\b[^;]*\|\s*['\"]")


_REMOVES = re.compile(
    r"\b(?P<verb>rm(?:dir)?(?:Sync)?|unlink(?:Sync)?|rimraf(?:\.sync)?|remove(?:Sync|_tree|_dir)?|"
    r"rm_rf?|rm_r|rmtree|delete|remove_entry\w*)\s*+\(?\s*+"
    r"(?:(['\"])(?P<path>[^'\"\n]+)\2|(?:require\(\s*['\"](?:node:)?os['\"]\s*\)|\bos)\.homedir\(\)"
    r"|process\.env\.HOME\b|Dir\.home\b|\$?ENV[\[{]['\"]?HOME\b)"
)
"""Removing function with its path; the home directory if that is not literal."""


def _removed_paths(text: str) -> Iterator[Answer]:
    for match in _REMOVES.finditer(text):
        single = match["verb"].startswith(("unlink", "delete")) or match["verb"] == "remove"
        flag = "-f" if single else "-rf"
        # In many programs these are methods unrelated to files.
        vague = match["verb"].startswith(("delete", "remove")) and match["verb"][6:] == ""
        yield run(["rm", flag, "--", match["path"] or "~"], vague=vague)


def _removed_names(text: str) -> Iterator[Answer]:
    """Yield paths passed to a removing function in a variable assigned one text."""
    for match in islice(_REMOVES_NAMED.finditer(text), _MOST_NAMES):
        values = re.findall(
            rf"(?<![\w.]){re.escape(match['name'])}\s*=\s*(['\"])([^'\"\n]+)\1", text
        )
        if len(values) == 1:
            yield run(["rm", "-rf", "--", values[0][1]])


_MOST_NAMES = 20
_REMOVES_NAMED = re.compile(
    r"\b(?:rm(?:dir)?(?:Sync)?|unlink(?:Sync)?|rimraf(?:\.sync)?|removeSync|remove_tree|rm_rf?|rm_r"
    r"|rmtree)\s*+\(?\s*+(?P<name>[$@]?[A-Za-z_]\w*)\s*[,);}\n]"
)


def _held_danger(language: str, text: str, held: list[str]) -> Iterator[Answer]:
    """Yield dangers in the strings themselves: callbacks, commands to open."""
    if language == "ruby" and re.search(r"\bopen\b", text):
        yield from (script(name[1:]) for name in held if name.startswith("|"))
    if language in {"node", "php"} and _LOADS_FAR.search(text):
        hit = ask("remote_code", f"{language} loads code from the network or from a stream")
        yield hit._replace(vague=not _SURELY_FAR.search(text))
    if language == "perl" and _PIPED_OPEN.search(text):
        yield ask("code_danger", "perl opens a pipe to a command")
    if language == "php" and re.search(r"\b(?:array_\w+|usort|iterator_apply)\s*\(", text):
        for name in held:
            if _PATTERNS["php"].fullmatch(name):
                yield ask("code_danger", f"php calls {name}")


def _to_paths(language: str, text: str, held: list[str]) -> Iterator[Answer]:
    """Yield what the program writes and moves, if its text contains the path."""
    written = list(_written_paths(language, text, held))
    for match in _TO.finditer(text):
        if match["verb"].startswith(("rename", "move")):
            yield run(["mv", "--", match["source"], match["target"]])
        else:
            written.append(match["target"])
    for path in written:
        yield script(f"cat > {shlex.quote(path)}", stdin=Stream(None))
    for match in _READS.finditer(text):
        path = f"~{match['path']}" if match["home"] else match["path"]
        yield script(f": < {shlex.quote(path)}")
    for path in _opened_paths(language, text, held):
        yield script(f": < {shlex.quote(path)}")


def _opened_paths(language: str, text: str, held: list[str]) -> Iterator[str]:
    """Yield other opened paths: everything shaped like a path, if a name is substituted."""
    for match in _OPENS.finditer(text):
        yield match["path"]
    if language == "perl":
        yield from (match["path"].strip() for match in _PERL_READ.finditer(text))
    if _UNNAMED_READS.search(text):
        yield from (name for name in held if _PATH_SHAPE.fullmatch(name))


def _written_paths(language: str, text: str, held: list[str]) -> Iterator[str]:
    for match in _WRITES.finditer(text):
        yield match["path"]
    for match in _OPENED.finditer(text):
        if set(match["mode"]) & set("wa+xc"):
            yield match["path"]
    if language == "perl":
        for match in _PERL_OPEN.finditer(text):
            yield match["path"].strip()
    if _UNNAMED_WRITES.search(text):
        # Any path in the program may be used.
        yield from (name for name in held if name.startswith(("/", "~")))


def _without_shell_calls(text: str) -> str:
    """Remove calls with a literal command, which are assessed by that command alone."""
    bare = _LISTED_CALL.sub(" ", _SHELL_CALL.sub(" ", text))
    if bare == text:
        return text
    return re.sub(r"require\(\s*['\"](?:node:)?child_process['\"]\s*\)\s*\.?", " ", bare)


# Compiled programs: commands and deletions spelled out in their text.
#
# Programs in these languages are written and run all day, so only visible harm is reported, and
# nothing for unknown parts.


def assess_compiled(language: str, text: str) -> Iterator[Answer]:
    """Yield findings for a program in one of `COMPILED`."""
    bare = (
        re.sub(r"(?m)//.*$|/\*(?s:.*?)\*/", " ", text) if "//" not in _joined_texts(text) else text
    )
    for match in _COMPILED_STARTS[language].finditer(bare):
        words = [match[1], *_ANY_TEXT.findall(match["more"])]
        more = [UNKNOWN] if _UNTOLD.search(match["more"]) else []
        yield run([*(word.replace('\\"', '"') for word in words), *more])
    for match in _COMPILED_REMOVES[language].finditer(bare):
        tree = match["all"] in {"dir_all", "All"}
        yield run(["rm", "-rf" if tree else "-f", "--", match[2]])
    for match in _COMPILED_WRITES[language].finditer(bare):
        yield script(f"cat > {shlex.quote(match[1])}", stdin=Stream(None))


def _joined_texts(text: str) -> str:
    """Return the texts of a program, in which an address may resemble a comment."""
    return " ".join(_ANY_TEXT.findall(text))
