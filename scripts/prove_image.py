"""Verify the image without a container engine (Linux, root).

    .venv/bin/python -m scripts.prove_image [--python PREFIX]

Replays the Dockerfile's instructions, each at its real path, in a changed root: an overlay over
this machine's files whose /usr/local is the chosen Python, as in the base image. Then starts the
service as the image would, under the limits of compose.yaml (uid 10001, read-only root, no
capabilities, no new privileges) and under the system-call filter of Docker, until its health check
passes, and calls the tools that run programs. Nothing outside a temporary folder is written. This
does not verify the contents of the base image itself.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts import prove_tools
from scripts.dockerfile import Stage, Step, healthcheck_command, parse

ROOT = Path(__file__).resolve().parent.parent
INSIDE = "TOLLGATE_PROVE_INSIDE"
READY_SECONDS = 60
RUN_SECONDS = 900
PASSED_ON = ("PIP_", "SSL_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy")
TOKEN = "0" * 64
# Python at the level that asks, from the command line, whose user approves it.
NESTED = "import json, subprocess; print(subprocess.getoutput('echo nested; cat /etc/passwd'))"
FORBIDDEN = ("pip", "hatchling", "setuptools", "wheel")


def say(text: str) -> None:
    """Print a line immediately."""
    print(text, flush=True)


def mount(*arguments: str) -> None:
    """Mount in this process's own mount namespace."""
    subprocess.run(["/bin/mount", *arguments], check=True)


class Box:
    """Changed root in which one stage is built."""

    def __init__(self, place: Path, prefix: Path) -> None:
        self.root = place / "root"
        self.environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root"}
        self.folder = "/"
        for lower, target, name in (
            (Path("/"), self.root, "system"),
            (prefix, self.root / "usr/local", "python"),
        ):
            upper, work = place / name / "upper", place / name / "work"
            for folder in (upper, work, target):
                folder.mkdir(parents=True, exist_ok=True)
            options = f"lowerdir={lower},upperdir={upper},workdir={work}"
            mount("-t", "overlay", "overlay", "-o", options, str(target))
        self.root.chmod(0o755)
        for name in ("proc", "dev"):
            mount("--rbind", f"/{name}", str(self.root / name))
        mount("-t", "tmpfs", "tmpfs", str(self.root / "tmp"))
        self.run("ldconfig")  # the base image knows its own libpython, too

    def command(self, words: Sequence[str], limits: Sequence[str] = ()) -> list[str]:
        """Return the command line that runs the words inside."""
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        inside = ["env", "-i", f"--chdir={self.folder}", *settings, *words]
        return ["chroot", str(self.root), *limits, *inside]

    def run(self, text: str) -> None:
        """Run one RUN instruction; raise CalledProcessError when it fails."""
        outer = {k: v for k, v in os.environ.items() if k.startswith(PASSED_ON)}
        kept, self.environment = self.environment, {**outer, **self.environment}
        try:
            subprocess.run(self.command(["sh", "-c", text]), check=True, timeout=RUN_SECONDS)
        finally:
            self.environment = kept

    def copy(self, source: Path, names: Sequence[str], target: str) -> None:
        """Copy files or the contents of folders, as COPY does."""
        goal = self.root / os.path.normpath(f"{self.folder}/{target}").lstrip("/")
        if Path(target).is_absolute():
            goal = self.root / target.lstrip("/")
        for name in names:
            origin = source / name.lstrip("/")
            if origin.is_dir():
                shutil.copytree(origin, goal, symlinks=True, ignore=kept_out, dirs_exist_ok=True)
            else:
                goal.mkdir(parents=True, exist_ok=True)
                shutil.copy2(origin, goal / origin.name)


def context_allows(name: str) -> bool:
    """Return whether .dockerignore, which lists allowed paths, lets a path into the build."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    return f"!{Path(name).parts[0]}" in lines


def kept_out(folder: str, names: Sequence[str]) -> set[str]:
    """Return what .dockerignore excludes from an otherwise allowed folder."""
    refused = {"__pycache__"} & set(names)
    if Path(folder).is_relative_to(ROOT):
        lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
        inside = Path(folder).relative_to(ROOT)
        refused |= {name for name in names if (inside / name).as_posix() in lines}
    return refused


def replay(stage: Stage, box: Box, built: dict[str, Box]) -> None:
    """Run the steps of a stage."""
    for step in stage.steps:
        say(f"  {step.name} {step.text[:90]}")
        if step.name == "RUN":
            box.run(step.text)
        elif step.name == "ENV":
            pairs = (word.partition("=") for word in step.words())
            box.environment.update({name: value for name, _, value in pairs})
        elif step.name == "WORKDIR":
            box.folder = step.text
            (box.root / step.text.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif step.name == "COPY":
            copy_step(step, box, built)


def copy_step(step: Step, box: Box, built: dict[str, Box]) -> None:
    """Run one COPY, from an earlier stage or from the tree."""
    *names, target = step.words()
    refused = [name for name in names if step.source is None and not context_allows(name)]
    if refused:
        raise SystemExit(f".dockerignore keeps out what the Dockerfile copies: {refused}")
    box.copy(built[step.source].root if step.source else ROOT, names, target)


def check_contents(box: Box) -> None:
    """Refuse a final image that contains build tools or a writable program."""
    packages = next((box.root / "opt/tollgate/lib").glob("python3*")) / "site-packages"
    carried = [name for name in FORBIDDEN if (packages / name).exists()]
    if carried or any((box.root / "usr/local/lib").glob("python3*/site-packages/pip")):
        raise SystemExit(f"build tools in the final layer: {carried or ['pip of the base']}")
    size = sum(path.lstat().st_size for path in (box.root / "opt/tollgate").rglob("*"))
    say(f"  /opt/tollgate: {size / 1e6:.0f} MB, no build tools")


@contextlib.contextmanager
def serving(words: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run the image's program for the duration of the block."""
    process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def furnish(stage: Stage, box: Box, port: int) -> None:
    """Mount what the compose file mounts, and remove what it removes."""
    uid, gid = user_of(stage)
    data = box.root / "data"
    mount("-t", "tmpfs", "-o", f"uid={uid},gid={gid},mode=0700", "tmpfs", str(data))
    for target in (box.root / "usr/local", box.root):
        mount("-o", "remount,ro", str(target))
    box.environment.update(TOLLGATE_TOKEN=TOKEN, TOLLGATE_PORT=str(port), HOME="/data")


def contained(stage: Stage, box: Box, words: Sequence[str]) -> list[str]:
    """Return the command line that runs the words like a container."""
    uid, gid = user_of(stage)
    limits = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
    limits += ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
    filtered = [sys.executable, "-m", "scripts.docker_profile"]
    return [*filtered, *box.command(words, limits)]


def user_of(stage: Stage) -> tuple[str, str]:
    """Return the user and the group of the image."""
    user = stage.last("USER")
    assert user is not None, "the image must not run as root"
    uid, _, gid = user.text.partition(":")
    return uid, gid


def free_port() -> int:
    """Return an unused port of the loopback interface."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def prove_service(stage: Stage, box: Box) -> None:
    """Start, wait for the image's own health check, use it, and stop it gracefully."""
    check, port = stage.last("HEALTHCHECK"), free_port()
    assert check is not None, "the image needs a health check"
    furnish(stage, box, port)
    entry, default = stage.last("ENTRYPOINT"), stage.last("CMD")
    program = entry.words() if entry else []
    with serving(
        contained(stage, box, [*program, *(default.words() if default else [])])
    ) as process:
        probe = contained(stage, box, healthcheck_command(check))
        deadline = time.monotonic() + READY_SECONDS
        while subprocess.run(probe, cwd=ROOT, stderr=subprocess.DEVNULL, check=False).returncode:
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the service did not become healthy (exit {process.poll()})")
            time.sleep(0.2)
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").splitlines()
        facts = [" ".join(line.split()) for line in status if line.startswith(("Uid", "CapEff"))]
        say(f"  healthy; {'; '.join(facts)}")
        prove_pages(f"http://127.0.0.1:{port}")
        if prove_tools.main([f"http://127.0.0.1:{port}", TOKEN]):
            raise SystemExit("the tools do not work in the image")
        prove_command_line(stage, box, program)
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=20)
        if code not in (0, -signal.SIGTERM, 128 + signal.SIGTERM):
            raise SystemExit(f"the service ended with {code} after SIGTERM")
        say(f"  stopped on SIGTERM with exit code {code}")


def prove_pages(url: str) -> None:
    """Verify that the image serves the browser interface, with its script."""
    asked = urllib.request.Request(url, headers={"Accept": "text/html"})  # noqa: S310 - loopback
    with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310
        page = answer.read().decode()
    script = re.search(r'<script type="module"[^>]* src="(/assets/[^"]+)"', page)
    if script is None:
        raise SystemExit("the image holds no browser interface")
    with urllib.request.urlopen(url + script[1], timeout=10) as answer:  # noqa: S310
        size = len(answer.read())
    say(f"  browser interface: {script[1]}, {size} bytes")


def prove_command_line(stage: Stage, box: Box, program: Sequence[str]) -> None:
    """Verify the program's own checks, and unrestricted Python, next to the service."""
    subprocess.run(contained(stage, box, [*program, "doctor"]), cwd=ROOT, check=False)
    code = ["code=" + NESTED, "strictness=lenient"]
    words = contained(stage, box, [*program, "call", "--yes", "execute_python", *code])
    said = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False).stdout
    if "nested" not in said or "root:" in said:
        raise SystemExit(f"lenient Python does not work in the image: {said}")
    say("  lenient Python runs programs and reads no users")


def prove(prefix: Path, place: Path) -> None:
    """Build every stage, inspect the last one, and run it."""
    built: dict[str, Box] = {}
    stages = parse((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    for stage in stages:
        say(f"FROM {stage.base} AS {stage.name}")
        built[stage.name] = Box(place / stage.name, prefix)
        replay(stage, built[stage.name], built)
    final = stages[-1]
    say("The final image")
    check_contents(built[final.name])
    prove_service(final, built[final.name])
    say("The image builds, starts, is healthy and stops.")


def main(arguments: Sequence[str]) -> int:
    """Enter a separate mount namespace, then verify."""
    parser = argparse.ArgumentParser(description="Replay the Dockerfile without an engine.")
    parser.add_argument("--python", type=Path, default=Path(sys.base_prefix), metavar="PREFIX")
    chosen = parser.parse_args(arguments)
    if os.geteuid() != 0 or not shutil.which("unshare"):
        say("prove_image.py needs Linux, root and the program unshare.")
        return 2
    if INSIDE not in os.environ:
        again = ["unshare", "--mount", "--propagation=private", sys.executable]
        again += ["-m", "scripts.prove_image", f"--python={chosen.python.resolve()}"]
        inner = {**os.environ, INSIDE: "1"}
        return subprocess.run(again, env=inner, cwd=ROOT, check=False).returncode
    # Never removed as a tree: a remaining mount would be emptied with it.
    place = tempfile.mkdtemp(prefix="tollgate-image-")
    mount("-t", "tmpfs", "tmpfs", place)
    try:
        prove(chosen.python, Path(place))
    except subprocess.CalledProcessError as error:
        say(f"failed with exit code {error.returncode}: {error.cmd[-1]}")
        return 1
    finally:
        subprocess.run(["/bin/umount", "--recursive", "--lazy", place], check=False)
        Path(place).rmdir()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
