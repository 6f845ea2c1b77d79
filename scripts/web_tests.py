"""Check everything that needs Node.js: pages, their scenes in Chromium, protocol document.

    python -m scripts.web_tests [scenes...]

Scenes are files of `web/e2e`, for example `chat.test.mjs`; without one, everything is checked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.parts import CHROMIUM
from web import webbuild

ROOT = Path(__file__).resolve().parent.parent
SCENES = ROOT / "web" / "e2e"
LIMIT_S = 900
SIDE_BY_SIDE = 2


def main(arguments: Sequence[str]) -> int:
    """Check; return the exit code, 1 if something failed."""
    if not CHROMIUM.is_here():
        print(f"error: the scenes need Chromium: {CHROMIUM.provide}", file=sys.stderr)
        return 1
    try:
        node = webbuild.find_node()
        if not arguments:
            webbuild.check()
            check_protocol_document(node)
        webbuild.build()
        webbuild.install(node, everything=True)
    except webbuild.BuildFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    scenes = [SCENES / Path(name).name for name in arguments] or sorted(SCENES.glob("*.test.mjs"))
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        passed = list(threads.map(lambda scene: play(node, scene), scenes))
    print(f"{sum(passed)} of {len(passed)} files of scenes passed")
    return 0 if all(passed) else 1


def check_protocol_document(node: webbuild.Node) -> None:
    """Validate the AsyncAPI document of the service with the official parser.

    Raises:
        BuildFailed: the parser cannot be installed, or refuses the document.
    """
    webbuild.say("AsyncAPI document ...")
    place = ROOT / "tests" / "asyncapi"
    path = os.pathsep.join((str(Path(node.program).parent), os.environ["PATH"]))
    options = ["--prefix", str(place), "--ignore-scripts", "--no-audit", "--no-fund"]
    webbuild.run([*node.npm, "ci", *options], LIMIT_S, {"PATH": path})
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as document:
        program = [sys.executable, "-m", "app.cli", "asyncapi"]
        subprocess.run(program, cwd=ROOT, stdout=document, timeout=LIMIT_S, check=True)
        webbuild.run([node.program, str(place / "validate.mjs"), document.name], LIMIT_S, {})


def play(node: webbuild.Node, scene: Path) -> bool:
    """Run the scenes of one file; its output is printed as a whole at the end."""
    began = time.monotonic()
    try:
        done = subprocess.run(
            [node.program, "--test", str(scene)],
            cwd=ROOT,
            env={**os.environ, "TOLLGATE_PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=LIMIT_S,
            check=False,
        )
        passed, output = done.returncode == 0, done.stdout
    except subprocess.TimeoutExpired as error:
        passed, output = False, f"{error}"
    took = f"{time.monotonic() - began:.1f} s"
    print(f"{scene.name:<28} {took:>8}  {'passed' if passed else 'FAILED'}", flush=True)
    if not passed:
        print(output, flush=True)
    return passed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
