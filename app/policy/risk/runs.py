"""Files that a command runs or reads as configuration, which determine it besides its words.

The analysis opens no file. It returns the names of such files, and the caller supplies the text of
those that a session wrote (`Given`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from app.policy.risk.call import UNKNOWN, CommandCall, names, options, prints_help, resolve
from app.policy.risk.kinds import (
    COPIED,
    GDB,
    GIT,
    JUSTFILE,
    MAKEFILE,
    NODE,
    PACKAGE,
    PROGRAM,
    PYTHON,
    READ,
    SHELL,
    SOURCED,
    TASKFILE,
    TESTS,
    VIM,
    imported,
    language_by_name,
    packages_on_the_way,
)
from app.policy.risk.model import FileRun
from app.policy.risk.rules.interpreters import INTERPRETERS, only_checks
from app.policy.risk.rules.shells import only_parses

Finder = Callable[[CommandCall], Iterator[FileRun]]

_SHELLS = names("bash sh zsh dash ksh ash mksh rbash fish csh tcsh")
_CODE = re.compile(r"-[a-zA-Z]*[cs][a-zA-Z]*")
_PATH = re.compile(r"[\w@%+=:,~*?\[\]-]*+[/.][\w@%+=:,./~*?\[\]-]*+")


def may_run_files(word: str) -> bool:
    """Return whether a command with this first word may run or use a file that `runs_of`
    returns.
    """
    return "/" in word or word in FINDERS or word[-1:].isdigit()


def runs_of(call: CommandCall, word: str) -> Iterator[FileRun]:
    """Yield the files that `call`, whose first word is `word`, runs or uses."""
    if "/" in word:
        yield FileRun(call.at(word), PROGRAM)
    finder = FINDERS.get(call.name)
    if finder is None and (versioned := _VERSIONED.fullmatch(call.name)):
        finder = FINDERS.get(versioned.group(1))
    if finder is not None and not prints_help(call.args[:1]):
        yield from finder(call)


_VERSIONED = re.compile(r"(python|pypy|pytest|pip|ruby|php|lua|perl|node|bash)[\d.]+")


def _shell(call: CommandCall) -> Iterator[FileRun]:
    at, args = 0, call.args
    if only_parses(args):
        return
    while at < len(args) and re.match(r"[-+].", args[at]):
        if _CODE.fullmatch(args[at]):
            return
        if args[at] in {"--rcfile", "--init-file"} and args[at + 1 :]:
            yield FileRun(call.at(args[at + 1]), SOURCED)
        at += 2 if args[at] in {"-o", "+o", "-O", "+O", "--rcfile", "--init-file"} else 1
    if args[at:] and args[at] != "-":
        yield FileRun(call.at(args[at]), SHELL)
    if call.assigned.get("BASH_ENV"):
        yield FileRun(call.at(call.assigned["BASH_ENV"]), SOURCED)


def _source(call: CommandCall) -> Iterator[FileRun]:
    if call.args and call.args[0] != "-":
        yield FileRun(call.at(call.args[0]), SOURCED)


_PYTHON_VALUED = "c m W X Q -check-hash-based-pycs"


def _python(call: CommandCall) -> Iterator[FileRun]:
    given = options(call.args, _PYTHON_VALUED, stop=True)
    folders = ["."]
    if module := given.value("-m"):
        yield from _python_module(call, module)
    elif "-c" not in given.values:
        script = given.rest[0] if given.rest and given.rest[0] != "-" else ""
        if script:
            yield FileRun(call.at(script), PYTHON)
            if "/" in script:
                folders.append(script.rsplit("/", 1)[0])
        elif call.stdin and call.stdin.file:
            yield FileRun(call.stdin.file, PYTHON)
    for text in (*given.all_values("-c"), call.stdin.text if call.stdin else None):
        for name in imported("", PYTHON, text or ""):
            yield FileRun(call.at(name), PYTHON)
    if len(folders) == 1 and "PYTHONPATH" not in call.assigned:
        yield from _at_start(call.cwd, call.home)
        return
    yield FileRun(call.at("./-"), PYTHON)
    for name in (*_START_MODULES, *_path_modules(call)):
        yield from (FileRun(call.at(f"{folder}/{name}"), PYTHON) for folder in folders)


@lru_cache(maxsize=512)
def _at_start(cwd: str | None, home: str) -> tuple[FileRun, ...]:
    """What every Python loads that starts in a directory, if it is there."""
    paths = ("./-", *(f"./{name}" for name in _START_MODULES))
    return tuple([FileRun(resolve(path, cwd, home), PYTHON) for path in paths])


_START_MODULES = ("sitecustomize.py", "usercustomize.py")


def _path_modules(call: CommandCall) -> Iterator[str]:
    for folder in call.assigned.get("PYTHONPATH", "").split(":"):
        if folder and UNKNOWN not in folder:
            yield from (f"{folder}/{name}" for name in _START_MODULES)


_MODULE_PROGRAMS = frozenset(names("pytest pip unittest build nox tox invoke flask"))


def _python_module(call: CommandCall, module: str) -> Iterator[FileRun]:
    yield from _module_files(call, module)
    if module in _MODULE_PROGRAMS:
        at = next((at for at, arg in enumerate(call.args) if arg.endswith(module)), 0)
        inner = CommandCall(module, call.args[at + 1 :], call.cwd, call.home)
        finder = FINDERS.get(module)
        if finder is not None:
            yield from finder(inner)
    elif module in _MODULE_RUNNERS:
        yield from _runner(CommandCall(module, call.args, call.cwd, call.home))


_MODULE_RUNNERS = frozenset(
    names("coverage cProfile profile pdb trace runpy debugpy kernprof pyinstrument scalene memray")
)


def _module_files(call: CommandCall, module: str) -> Iterator[FileRun]:
    path = module.replace(".", "/")
    for name in (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py"):
        yield FileRun(call.at(name), PYTHON)
    for name in packages_on_the_way(module):
        yield FileRun(call.at(name), PYTHON)


def _runner(call: CommandCall) -> Iterator[FileRun]:
    """Handle programs that run a Python file or module in their words: `coverage run`."""
    for word in call.args[:30]:
        text = word.partition("=")[2] if word[:1] == "-" else word
        if text.endswith(".py"):
            yield FileRun(call.at(text), PYTHON)
        elif _MODULE.fullmatch(text) and text not in _VERBS:
            yield from _module_files(call, text.partition(":")[0])
    if app := call.assigned.get("FLASK_APP"):
        yield from _runner(CommandCall(call.name, [app], call.cwd, call.home))


_MODULE = re.compile(r"[A-Za-z_][\w.]*(?::[\w.()]+)?")
_VERBS = frozenset(names("run worker beat shell report html xml combine erase serve dev migrate"))


def _uv(call: CommandCall) -> Iterator[FileRun]:
    yield from _pip(call)
    if call.args[:1] == ["run"]:
        for word in call.args[1:]:
            if word.endswith(".py"):
                yield FileRun(call.at(word), PYTHON)
                return


def _unittest(call: CommandCall) -> Iterator[FileRun]:
    """Handle tests given as module names."""
    words = options(call.args, "s p t k").rest
    for word in words or ["discover"]:
        if word == "discover" or "/" in word or word.endswith(".py"):
            yield FileRun(call.at("." if word == "discover" else word), TESTS)
        else:
            parts = word.split(".")
            for end in range(len(parts), max(0, len(parts) - 3), -1):
                yield from _module_files(call, ".".join(parts[:end]))


def _node_tests(configs: Finder) -> Finder:
    """Return a finder for programs that run a project's tests, as configured in one of its
    files.
    """

    def finder(call: CommandCall) -> Iterator[FileRun]:
        yield from configs(call)
        words = [word for word in options(call.args).rest if "/" in word or "." in word]
        for word in words or ["."]:
            yield FileRun(call.at(word), TESTS)

    return finder


def _node_runner(call: CommandCall) -> Iterator[FileRun]:
    for word in options(call.args, stop=False).rest[:5]:
        if language_by_name(word) == NODE:
            yield FileRun(call.at(word), NODE)


def _script_file(flags: str, kind: str) -> Finder:
    """Return a finder: an option contains a command file."""
    listed = tuple("-" + flag for flag in flags.split())

    def finder(call: CommandCall) -> Iterator[FileRun]:
        for at, word in enumerate(call.args[:-1]):
            if word in listed:
                yield FileRun(call.at(call.args[at + 1]), kind)

    return finder


def _tests(call: CommandCall) -> Iterator[FileRun]:
    """Yield tests for `pytest` and similar: the named ones, or all, with their configuration."""
    given = options(call.args, "k m p c n W o r -rootdir -maxfail -cov -junitxml -ignore -tb")
    named = [word.partition("::")[0] for word in given.rest if "=" not in word]
    for word in named or ["."]:
        yield FileRun(call.at(word), TESTS)
    for name in ("conftest.py", *_START_MODULES):
        yield FileRun(call.at(name), PYTHON)


_NODE_VALUED = "e p -eval -print r -require -import -loader C -conditions -env-file"


def _node(call: CommandCall) -> Iterator[FileRun]:
    args = call.args[1:] if call.name in {"bun", "deno"} and call.args[:1] == ["run"] else call.args
    given = options(args, _NODE_VALUED, stop=True)
    for path in given.all_values("-r", "--require", "--import", "--loader"):
        yield from _node_file(call, path)
    if only_checks(call.name, given):
        return
    if given.values.keys().isdisjoint({"-e", "-p", "--eval", "--print"}):
        if given.has("--test") and not given.rest:
            yield FileRun(call.at("."), TESTS)
        for path in given.rest[: None if given.has("--test") else 1]:
            yield from _node_file(call, path)
        if not given.rest and call.stdin and call.stdin.file:
            yield FileRun(call.stdin.file, NODE)
    for text in given.all_values("-e", "-p", "--eval", "--print"):
        yield from (FileRun(call.at(name), NODE) for name in imported("", NODE, text))
    if call.name == "bun":
        yield from _packages(call)


def _node_file(call: CommandCall, path: str) -> Iterator[FileRun]:
    if path not in {"-", ""}:
        yield from (FileRun(call.at(f"{path}{end}"), NODE) for end in ("", ".js", "/index.js"))


def _other(language: str, valued: str, code: str, loading: str = "") -> Finder:
    """Return a finder for interpreters whose first operand is the program."""
    codes = ["-" + name for name in code.split()]
    loaders = ["-" + name for name in loading.split()]

    def finder(call: CommandCall) -> Iterator[FileRun]:
        given = options(call.args, f"{valued} {code} {loading}", stop=True)
        for path in given.all_values(*loaders):
            yield from (FileRun(call.at(f"{path}{end}"), language) for end in ("", ".rb"))
        if not any(name in given.values for name in codes) and not only_checks(call.name, given):
            for path in given.rest[:1]:
                yield FileRun(call.at(path), language)
            if not given.rest and call.stdin and call.stdin.file:
                yield FileRun(call.stdin.file, language)

    return finder


def _configured(files: str, language: str) -> Finder:
    """Return a finder for programs that run the content of a file with a fixed name."""
    usual = files.split()

    def finder(call: CommandCall) -> Iterator[FileRun]:
        given = options(call.args, "f c C -config -file -rakefile -gulpfile -directory", stop=False)
        folder = given.value("-C", "--directory") or "."
        named = given.all_values(
            "-f", "-c", "--config", "--file", "--rakefile", "--gulpfile", "--makefile"
        )
        for path in named:
            yield FileRun(call.at(path), language)
        for name in usual:
            yield FileRun(call.at(f"{folder}/{name}"), language)

    return finder


def _packages(call: CommandCall) -> Iterator[FileRun]:
    """Handle npm and similar: the scripts of `package.json`."""
    given = options(
        call.args,
        "C w F -prefix -cwd -dir -workspace -filter -registry -userconfig -cache",
        stop=False,
    )
    folder = given.value("--prefix", "-C", "--cwd", "--dir") or "."
    yield FileRun(call.at(f"{folder}/package.json"), PACKAGE)


def _pip(call: CommandCall) -> Iterator[FileRun]:
    """Handle installation from a folder, which runs its `setup.py`."""
    words = options(call.args, "r c i t -requirement -constraint -index-url -target e=").rest
    for word in [".", *words]:
        folder = word.partition("[")[0]
        if UNKNOWN not in folder and ("/" in folder or folder in {".", ".."}):
            yield FileRun(call.at(f"{folder}/setup.py"), PYTHON)


def _cargo(call: CommandCall) -> Iterator[FileRun]:
    verb = next((word for word in call.args if word[:1] not in "+-"), "")
    if verb in _COMPILING:
        yield FileRun(call.at("build.rs"), "rust")
    if verb in {"run", "r", "test", "t", "bench"}:
        yield from (FileRun(call.at(f"src/{name}.rs"), "rust") for name in ("main", "lib"))


_COMPILING = frozenset(names("build b check c clippy run r test t bench doc install rustc fix"))


def _go(call: CommandCall) -> Iterator[FileRun]:
    if call.args[:1] == ["run"]:
        for word in options(call.args[1:], "C exec tags mod", clusters=False).rest[:1]:
            path = word if word.endswith(".go") else f"{word.rstrip('/')}/main.go"
            yield FileRun(call.at(path), "go")


_HOOKS = {
    "commit": "pre-commit prepare-commit-msg commit-msg post-commit",
    "merge": "pre-merge-commit post-merge",
    "pull": "pre-merge-commit post-merge",
    "rebase": "pre-rebase post-rewrite post-checkout",
    "checkout": "post-checkout",
    "switch": "post-checkout",
    "clone": "post-checkout",
    "worktree": "post-checkout",
    "push": "pre-push",
    "am": "applypatch-msg pre-applypatch post-applypatch",
    "gc": "pre-auto-gc",
}


def _git(call: CommandCall) -> Iterator[FileRun]:
    """Yield the settings used by every git command, and the hooks of this one."""
    folder, verb = ".", ""
    words = iter(call.args)
    for word in words:
        if word == "-C":
            folder = f"{folder}/{next(words, '.')}"
        elif word == "-c":
            next(words, None)
        elif not word.startswith("-"):
            verb = word
            break
    if folder == ".":
        yield from _in_repository(verb if verb in _HOOKS else "", call.cwd, call.home)
    else:
        yield from _repository(folder, verb, call.cwd, call.home)


def _repository(folder: str, verb: str, cwd: str | None, home: str) -> Iterator[FileRun]:
    yield FileRun(resolve(f"{folder}/.git/config", cwd, home), GIT)
    for hook in _HOOKS.get(verb, "").split():
        for place in (".git/hooks", ".husky", ".githooks"):
            yield FileRun(resolve(f"{folder}/{place}/{hook}", cwd, home), PROGRAM)


@lru_cache(maxsize=512)
def _in_repository(verb: str, cwd: str | None, home: str) -> tuple[FileRun, ...]:
    """The files that the same subcommand obeys each time in a directory."""
    return tuple(_repository(".", verb, cwd, home))


def _read(call: CommandCall) -> Iterator[FileRun]:
    """Handle programs whose rules read files: SQL, filters, lists of commands."""
    for word in call.args[:20]:
        for part in (word, word.partition("=")[2]):
            if part and part[0] != "-" and _PATH.fullmatch(part):
                yield FileRun(call.at(part), READ)
        if "read " in word or "\\i " in word:
            yield from (FileRun(call.at(part), READ) for part in word.split()[1:2])


def _copied(call: CommandCall) -> Iterator[FileRun]:
    for word in options(call.args, "t m o g S -target-directory").rest[:-1][:20]:
        yield FileRun(call.at(word), COPIED)


def _powershell(call: CommandCall) -> Iterator[FileRun]:
    """Handle `pwsh x.ps1`, `powershell -File x.ps1`."""
    words = [word for word in call.args if word.lower().endswith(".ps1")]
    yield from (FileRun(call.at(word.replace("\\", "/")), "powershell") for word in words[:1])


def _table(text: str, finder: Finder) -> dict[str, Finder]:
    return dict.fromkeys(text.split(), finder)


FINDERS: Mapping[str, Finder] = {
    **{name: _other(spec.language, spec.valued, spec.code) for name, spec in INTERPRETERS.items()},
    **dict.fromkeys(_SHELLS, _shell),
    **_table("source .", _source),
    **_table("python python2 python3 pypy pypy3 ipython", _python),
    **_table("pytest py.test", _tests),
    **_table("unittest nose2 nosetests", _unittest),
    **_table("coverage streamlit kernprof pyinstrument scalene memray viztracer debugpy", _runner),
    **_table("flask celery gunicorn uvicorn hypercorn daphne fastapi bokeh panel", _runner),
    **_table("nodemon electron pm2 ts-node-dev", _node_runner),
    **_table("npm-run-all run-s run-p", _packages),
    **_table("vim vi nvim ex", _script_file("S u", VIM)),
    "gdb": _script_file("x -command ix", GDB),
    "task": _configured("Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml", TASKFILE),
    **_table("node nodejs bun tsx ts-node deno", _node),
    **_table("ruby jruby", _other("ruby", "I C E x", "e", "r")),
    **_table("perl perl5", _other("perl", "I M m i F x", "e E")),
    **_table("php php8", _other("php", "d c z t S", "r B R E -run", "f")),
    **_table("lua luajit", _other("lua", "l", "e")),
    **_table("pwsh powershell", _powershell),
    **_table("make gmake", _configured("GNUmakefile makefile Makefile", MAKEFILE)),
    **_table("psql mysql mariadb sqlite3 duckdb awk gawk mawk sed cmake xargs parallel", _read),
    "just": _configured("justfile Justfile .justfile", JUSTFILE),
    "rake": _configured("Rakefile rakefile Rakefile.rb", "ruby"),
    **_table("bundle rails", _configured("Gemfile", "ruby")),
    "invoke": _configured("tasks.py", PYTHON),
    "inv": _configured("tasks.py", PYTHON),
    "fab": _configured("fabfile.py", PYTHON),
    "nox": _configured("noxfile.py", PYTHON),
    "doit": _configured("dodo.py", PYTHON),
    "scons": _configured("SConstruct", PYTHON),
    "waf": _configured("wscript", PYTHON),
    "gulp": _configured("gulpfile.js gulpfile.mjs", NODE),
    "grunt": _configured("Gruntfile.js Gruntfile.cjs", NODE),
    **_table("npm yarn pnpm", _packages),
    **_table("pip pip3 poetry build", _pip),
    "uv": _uv,
    "cargo": _cargo,
    "go": _go,
    **_table("git hub", _git),
    **_table("cp mv ln install", _copied),
}
for _name, _files in (
    ("jest", "jest.config.js jest.config.cjs jest.config.mjs jest.config.ts"),
    ("vitest", "vitest.config.js vitest.config.mjs vitest.config.ts vite.config.js vite.config.ts"),
    ("vite", "vite.config.js vite.config.mjs vite.config.ts"),
    ("webpack", "webpack.config.js webpack.config.cjs webpack.config.mjs"),
    ("rollup", "rollup.config.js rollup.config.mjs"),
    ("eslint", "eslint.config.js eslint.config.mjs .eslintrc.js .eslintrc.cjs"),
    ("prettier", "prettier.config.js .prettierrc.js"),
    ("mocha", ".mocharc.js .mocharc.cjs"),
    ("next", "next.config.js next.config.mjs"),
):
    _finder = _configured(_files, NODE)
    _is_tests = _name in {"jest", "vitest", "mocha"}
    FINDERS[_name] = _node_tests(_finder) if _is_tests else _finder  # type: ignore[index]


FROM_INPUT = frozenset(names("python python2 python3 pypy pypy3 node nodejs ruby perl php lua"))
"""Interpreters that run their input if nothing else is given."""
