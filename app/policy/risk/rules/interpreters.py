"""Interpreters with code on the command line or standard input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.policy.risk.call import (
    SECRET,
    UNKNOWN,
    Answer,
    CommandCall,
    Options,
    Rule,
    RuleTable,
    ask,
    names,
    options,
    run,
    script,
    vaguely,
)
from app.policy.risk.paths import reading


@dataclass(frozen=True, slots=True)
class Interpreter:
    """`code` options contain the program; `valued` take a word that is not code.

    `attached` letters take the rest of their word, if anything. with `checks` options the program
    is parsed, not run.
    """

    language: str
    code: str
    valued: str = ""
    module: str = ""
    attached: str = ""
    clusters: bool = True
    checks: str = ""


_PYTHON = Interpreter("python", "c", "W X Q -check-hash-based-pycs", module="m")
_NODE = Interpreter(
    "node", "e p -eval -print", "r -require -import -loader C -conditions -env-file"
)
_CHECKED_NODE = replace(_NODE, checks="c -check")
_PERL = Interpreter("perl", "e E", "I M m", attached="iFx")
_RUBY = Interpreter("ruby", "e", "r I C E x", checks="c")
INTERPRETERS: dict[str, Interpreter] = {
    **dict.fromkeys(
        names(
            "python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 "
            "python3.13 python3.14 pypy pypy3 ipython ipython3 py"
        ),
        _PYTHON,
    ),
    **dict.fromkeys(["node", "nodejs"], _CHECKED_NODE),
    **dict.fromkeys(["bun", "tsx", "ts-node"], _NODE),
    "perl": _PERL,
    "perl5": _PERL,
    "ruby": _RUBY,
    "jruby": _RUBY,
    **dict.fromkeys(["lua", "luajit", "lua5.1", "lua5.3", "lua5.4"], Interpreter("lua", "e", "l")),
    **dict.fromkeys(
        ["php", "php8"],
        Interpreter("php", "r B R E -run", "d c f z t", checks="l -syntax-check"),
    ),
    "Rscript": Interpreter("R", "e", ""),
    "R": Interpreter("R", "e", "f"),
    "osascript": Interpreter("applescript", "e", "l"),
    "julia": Interpreter("julia", "e E -eval", "L p"),
    "elixir": Interpreter("elixir", "e", "r S"),
    "iex": Interpreter("elixir", "e"),
    "erl": Interpreter("erlang", "eval", "pa pz s sname name", clusters=False),
    "groovy": Interpreter("groovy", "e", "cp"),
    "scala": Interpreter("scala", "e", "cp"),
    **dict.fromkeys(["clojure", "bb"], Interpreter("clojure", "e -eval", "m")),
    **dict.fromkeys(["ghc", "ghci", "runghc"], Interpreter("haskell", "e")),
    **dict.fromkeys(["irb", "pry"], _RUBY),
    "sage": Interpreter("python", "c"),
    "jjs": Interpreter("node", ""),
    "jrunscript": Interpreter("node", "e", "f l cp classpath", clusters=False),
    "slsh": Interpreter("octave", "e"),
    "bpython": _PYTHON,
    "kotlin": Interpreter("java", "e", "cp classpath"),
    **dict.fromkeys(["racket", "csi", "mit-scheme"], Interpreter("scheme", "e -eval", "l")),
    "ocaml": Interpreter("ocaml", "e", "I"),
    "raku": Interpreter("perl", "e", "I M"),
    "csharp": Interpreter("csharp", "e -eval", "r"),
    "guile": Interpreter("scheme", "c", "l s"),
    "emacs": Interpreter("lisp", "-eval f", "l"),
    "emacsclient": Interpreter("lisp", "e -eval", "s"),
    **dict.fromkeys(["octave", "octave-cli"], Interpreter("octave", "-eval")),
    "gnuplot": Interpreter("gnuplot", "e"),
    "swipl": Interpreter("prolog", "g t f"),
    "dc": Interpreter("dc", "e -expression", "f"),
    "m4": Interpreter("m4", "", "D I"),
    "jshell": Interpreter("java", "", ""),
    "maxima": Interpreter("octave", "-batch-string"),
    "matlab": Interpreter("octave", "batch r", clusters=False),
    "clisp": Interpreter("lisp", "x", "i E"),
    "ecl": Interpreter("lisp", "eval", clusters=False),
    "sbcl": Interpreter("lisp", "-eval", "-load"),
    "tclsh": Interpreter("tcl", "", ""),
    "expect": Interpreter("tcl", "c", "f"),
    "swift": Interpreter("swift", "e", ""),
}


def _rule(spec: Interpreter) -> Rule:
    def rule(call: CommandCall) -> Iterator[Answer]:
        yield from _interpret(spec, call)

    return rule


def _interpret(spec: Interpreter, call: CommandCall) -> Iterator[Answer]:
    args = call.args[1:] if call.name == "bun" and call.args[:1] == ["run"] else call.args
    valued = f"{spec.valued} {spec.code} {spec.module}"
    args = ["-p" if arg in {"-pe", "-ep"} and spec.language == "node" else arg for arg in args]
    if spec.language == "lisp":
        # Emacs accepts its long options with one dash as well.
        args = ["--eval" if arg in {"-eval", "-execute", "--execute"} else arg for arg in args]
    args = _before_module(args, spec.module)
    given = options(args, valued, stop=True, optional=spec.attached, clusters=spec.clusters)
    names = ["-" + name for name in spec.code.split()]
    found = [value for name in names for value in given.values.get(name, [])]
    if spec.language == "php" and given.value("-d"):
        yield (
            ask("loaded_code", "changes PHP's settings")
            if "auto_prepend" in (given.value("-d") or "")
            else run([])
        )
    for text in found:
        yield script(text, spec.language)
    if found and spec.language == "python" and given.has("-i") and call.stdin:
        yield script(call.stdin.text, "python")
    if any(text.startswith("data:") for text in given.all_values("-r", "--require", "--import")):
        yield ask("opaque_code", f"{call.name} loads code from its options")
    if found or given.has("--version", "--help", "-V", "-h") or only_checks(call.name, given):
        return
    if spec.module and (module := given.value("-" + spec.module)):
        yield from _module(call, module)
    elif given.rest and given.rest[0] not in {"-", "/dev/stdin"}:
        yield from _program(given.rest[0], spec)
    elif call.stdin and not (call.stdin.file and not given.rest):
        yield from _read(call.stdin.text, spec, typed=given.has("-i"))


def _before_module(args: list[str], letter: str) -> list[str]:
    """Return the interpreter's own options: those after `-m module` belong to the module."""
    for at, arg in enumerate(args if letter else ()):
        if arg[:1] != "-" or arg == "-c":
            break
        if arg == f"-{letter}":
            return args[: at + 2]
    return args


def only_checks(name: str, given: Options) -> bool:
    """Return whether an interpreter only checks a program: `node --check`."""
    spec = INTERPRETERS.get(name)
    return spec is not None and any(given.has("-" + flag) for flag in spec.checks.split())


def _read(text: str | None, spec: Interpreter, *, typed: bool) -> Iterator[Answer]:
    yield script(text, spec.language)
    if typed and spec.language == "python":
        # Each line runs before the next is read.
        yield from (script(line, "python") for line in (text or "").splitlines())


def _program(path: str, spec: Interpreter) -> Iterator[Answer]:
    if path.startswith("/dev/fd/"):
        yield script(None, spec.language)
    elif UNKNOWN in path and not path.rpartition("/")[2].strip(SECRET):
        yield vaguely("opaque_code", "runs a program whose name is not known before")


_MODULES = frozenset(
    names(
        "alembic django pip twine shutil awscli poetry uv flask keyring pipx build mkdocs jupyter "
        "notebook jupyterlab ansible_vault"
    )
)
"""Modules that act as the program with their name."""


_READING = frozenset(names("base64 json.tool gzip tokenize ast quopri csv zipfile tarfile"))
"""Modules that show or pack the files in their words."""


def _words_of_module(call: CommandCall, module: str, words: list[str]) -> Iterator[Answer]:
    if module == "pdb":
        given = options(words, "c -command", stop=True)
        yield from (script(text, "python") for text in given.all_values("-c", "--command"))
    for path in words if module in _READING else ():
        if path[:1] != "-":
            yield from reading(call.at(path), call.home)


def _module(call: CommandCall, module: str) -> Iterator[Answer]:
    at = next(
        (at for at, arg in enumerate(call.args) if arg.startswith("-m") or arg.endswith("m")), 0
    )
    following = (
        call.args[at + 1 :]
        if call.args[at : at + 1] == ["-" + "m" + module]
        else call.args[at + 2 :]
    )
    yield from _words_of_module(call, module, following)
    if module in _MODULES:
        yield run([module, *following])
    elif module in {"code", "pdb", "asyncio"} and call.stdin and not call.stdin.file:
        yield script(call.stdin.text, "python")
    elif module == "sqlite3":
        yield run(["sqlite3", *following])
    elif module == "timeit":
        given = options(following, "n r s u -number -repeat -setup -unit", stop=True)
        for text in [*given.all_values("-s", "--setup"), *given.rest]:
            yield script(text, "python")
    elif module in {"venv", "virtualenv"} and options(following, "-prompt").has("--clear"):
        for folder in options(following, "-prompt").rest:
            yield run(["rm", "-rf", "--", folder])
    elif module in {"zipfile", "tarfile"} and following[:1] in (["-e"], ["--extract"]):
        yield run(["mkdir", "-p", "--", *following[2:3]])


def _subcommand(verbs: str, language: str) -> Rule:
    """Return a rule for `crystal eval CODE`, `nim e -`: the program follows a subcommand."""

    def rule(call: CommandCall) -> Iterator[Answer]:
        words = options(call.args).rest
        count = len(verbs.split())
        if words[:count] != verbs.split():
            return
        if words[count:] and words[count] != "-":
            yield script(words[count], language)
        elif call.stdin:
            yield script(call.stdin.text, language)

    return rule


_DENO_VALUED = (
    "c L -config -import-map -lock -cert -log-level -ext -location -seed -v8-flags= -reload= "
    "-env-file= -check= -watch="
)
_DENO_VERBS = frozenset(
    names(
        "add bench bundle cache check clean compile completions coverage create deploy doc eval "
        "fmt help info init install jupyter lint lsp outdated publish remove repl run serve task "
        "test types uninstall update upgrade vendor x"
    )
)


def _deno(call: CommandCall) -> Iterator[Answer]:
    """Handle `deno -A -`, where `run` is omitted and the input is run."""
    before = options(call.args, _DENO_VALUED, stop=True)
    verb, args = "run", call.args
    if before.rest[:1] and before.rest[0] in _DENO_VERBS:
        verb, args = before.rest[0], call.args[before.first + 1 :]
    given = options(args, f"{_DENO_VALUED} -eval -eval-file=", stop=verb != "eval")
    words = given.rest
    if verb == "eval" and args:
        yield script(words[0] if words else None, "node")
    elif verb == "repl" or not call.args:
        yield from _deno_typed(call, given)
    elif verb != "run" or given.has("--help", "--version", "-h", "-V"):
        return
    elif words and words[0].startswith("/dev/fd/"):
        yield script(None, "node")
    elif words[:1] == ["-"] or (words and words[0] == "/dev/stdin"):
        if call.stdin:
            yield script(call.stdin.text, "node")
    elif words and words[0].startswith(("http:", "https:", "data:")):
        yield ask("remote_code", "runs a program from the network")
    elif words and words[0].startswith("npm:"):
        package = words[0][4:]
        yield run([package.split("@")[0] or package, *words[1:]])


def _deno_typed(call: CommandCall, given: Options) -> Iterator[Answer]:
    yield from (script(text, "node") for text in given.all_values("--eval"))
    if call.stdin:
        yield script(call.stdin.text, "node")


def _uv(call: CommandCall) -> Iterator[Answer]:
    """Handle `uv run -`: a program on standard input."""
    if call.args[:1] == ["run"] and call.args[-1:] == ["-"] and call.stdin:
        yield script(call.stdin.text, "python")


RULES: RuleTable = {name: _rule(spec) for name, spec in INTERPRETERS.items()} | {
    "deno": _deno,
    "uv": _uv,
    "crystal": _subcommand("eval", "ruby"),
    "nim": _subcommand("e", "nim"),
    "dotnet": _subcommand("script eval", "csharp"),
}
