"""Fuzzing of every operation of the OpenAPI document: no 5xx, nothing undocumented.

    .venv/bin/python -m scripts.fuzz_rest [--examples 12] [--seconds 600]

Schemathesis generates the requests from the document of a service that was started for it; it must
be on the PATH (`pip install schemathesis`). The suite does not use it.
Exit code 1 if an operation answered with a 5xx, or with an undocumented status, content type or
structure.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance"
)
# Endless: it has separate tests.
_STREAM = "/events/stream$"


async def fuzz(program: str, *, examples: int, seconds: int) -> int:
    """Run Schemathesis against a separate service; return its exit code."""
    with tempfile.TemporaryDirectory(prefix="tollgate-fuzz-") as name:
        folder = Path(name)
        token = await _token(folder)
        service, url = await _serve(folder)
        try:
            process = await asyncio.create_subprocess_exec(
                *(program, "run", f"{url}/api/v1/openapi.json"),
                *("--header", f"Authorization: Bearer {token}"),
                *("--checks", _CHECKS, "--exclude-path-regex", _STREAM),
                *("--max-examples", str(examples), "--max-time", str(seconds)),
                *("--request-timeout", "30", "--continue-on-failure", "--generation-deterministic"),
                cwd=name,
            )
            return await process.wait()
        finally:
            service.terminate()
            await service.communicate()


async def _token(folder: Path) -> str:
    """Return a token with all rights, which no request revokes by accident, unlike the first
    token.
    """
    await (await _command(folder, "init")).communicate()
    made = await _command(folder, "token", "create", "fuzz", "--admin")
    out, _ = await made.communicate()
    return next(word for word in out.decode().split() if word.startswith("tg_"))


async def _serve(folder: Path) -> tuple[asyncio.subprocess.Process, str]:
    """Start a service, and return its address."""
    service = await _command(folder, "serve")
    assert service.stdout is not None
    while b"url" not in (line := await service.stdout.readline()):
        if not line:
            raise RuntimeError("the service did not start")
    return service, line.split()[1].decode()


async def _command(folder: Path, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app.cli", *words, "--data-dir", str(folder / "data")),
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TOLLGATE_PORT": "0"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=12, help="of each operation, when fuzzing")
    parser.add_argument("--seconds", type=int, default=600, help="for all of them together")
    options = parser.parse_args()
    program = shutil.which("schemathesis")
    if program is None:
        print("schemathesis is not on the PATH: pip install schemathesis", file=sys.stderr)
        return 2
    return asyncio.run(fuzz(program, examples=options.examples, seconds=options.seconds))


if __name__ == "__main__":
    sys.exit(main())
