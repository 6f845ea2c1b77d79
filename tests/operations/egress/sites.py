"""Sites that package managers and Git use, with a package each, for servers of `Hosts`."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from app.operations.egress.refusal import Destination
from tests.support.binaries import require_binary
from tests.support.sql_servers import HOST, free_port

PACKAGES = "packages.example"
"""Host of every registry."""


class Files:
    """Answers requests with files by their path; keeps the paths that were asked for."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self.asked: list[str] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ", 2)[1].decode()
            self.asked.append(path)
            found = self._files.get(path)
            status = "200 OK" if found is not None else "404 Not Found"
            kind = "text/html" if path.endswith("/") else "application/json"
            content = found or b""
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n"
                f"Content-Length: {len(content)}\r\n\r\n".encode()
            )
            writer.write(content)
            await writer.drain()


def python_index() -> Files:
    """Return a simple index with the package `small`, whose module `small` has an `answer`."""
    wheel, info = io.BytesIO(), "small-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("small.py", "answer = 42\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    name = "small-1.0-py3-none-any.whl"
    page = f'<!DOCTYPE html><a href="/files/{name}">{name}</a>'
    return Files({"/simple/small/": page.encode(), f"/files/{name}": wheel.getvalue()})


def node_registry() -> Files:
    """Return a registry with the package `small`, which exports 42."""
    manifest = {"name": "small", "version": "1.0.0", "main": "index.js"}
    archive = _archive(
        {
            "package/package.json": json.dumps(manifest).encode(),
            "package/index.js": b"module.exports = 42;\n",
        }
    )
    place = "/small/-/small-1.0.0.tgz"
    digest = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    dist = {"tarball": f"https://{PACKAGES}{place}", "integrity": f"sha512-{digest}"}
    document = {
        "name": "small",
        "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {**manifest, "dist": dist}},
    }
    return Files({"/small": json.dumps(document).encode(), place: archive})


def rust_registry() -> Files:
    """Return a sparse registry with the crate `small`, whose `answer()` is 42."""
    manifest = '[package]\nname = "small"\nversion = "1.0.0"\nedition = "2021"\n'
    archive = _archive(
        {
            "small-1.0.0/Cargo.toml": manifest.encode(),
            "small-1.0.0/src/lib.rs": b"pub fn answer() -> u32 { 42 }\n",
        }
    )
    entry = {
        "name": "small",
        "vers": "1.0.0",
        "deps": [],
        "features": {},
        "yanked": False,
        "cksum": hashlib.sha256(archive).hexdigest(),
    }
    return Files(
        {
            "/config.json": json.dumps({"dl": f"https://{PACKAGES}/files"}).encode(),
            "/sm/al/small": json.dumps(entry).encode(),
            "/files/small/1.0.0/download": archive,
        }
    )


def _archive(files: Mapping[str, bytes]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return written.getvalue()


class Repositories:
    """Serves the bare repositories in a folder with Git's own program, and lets everybody push."""

    def __init__(self, folder: Path, program: Path) -> None:
        self._folder = folder
        self._program = program

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        method, target, _ = first.split(" ")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        length = int(fields.get("content-length", "0"))
        body = await reader.readexactly(length)
        path, _, query = target.partition("?")
        process = await asyncio.create_subprocess_exec(
            self._program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(self._folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REMOTE_USER": "somebody",
                "PATH_INFO": path,
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
                "QUERY_STRING": query,
                "REQUEST_METHOD": method,
                "CONTENT_TYPE": fields.get("content-type", ""),
                "CONTENT_LENGTH": str(length),
                "HTTP_CONTENT_ENCODING": fields.get("content-encoding", ""),
                "GIT_PROTOCOL": fields.get("git-protocol", ""),
            },
        )
        said, _ = await process.communicate(body)
        head, _, content = said.partition(b"\r\n\r\n")
        status = b"200 OK"
        if head.startswith(b"Status: "):
            status, _, head = head.removeprefix(b"Status: ").partition(b"\r\n")
        writer.write(b"HTTP/1.1 " + status + b"\r\nConnection: close\r\n" + head)
        writer.write(b"\r\nContent-Length: %d\r\n\r\n" % len(content) + content)
        await writer.drain()


@contextmanager
def ssh_server(folder: Path) -> Iterator[Destination]:
    """Run OpenSSH's server, which lets the current user log in with the new `key` in `folder`."""
    for name in ("key", "host"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f"]
        subprocess.run([*words, str(folder / name)], check=True)
    port = free_port()
    settings = {
        "ListenAddress": f"{HOST}:{port}",
        "HostKey": folder / "host",
        "PidFile": "none",
        "AuthorizedKeysFile": folder / "key.pub",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "yes",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    program = [str(require_binary("sshd")), "-D", "-f", "/dev/null"]
    command = [*program, "-e", *options]
    if os.geteuid() == 0:  # it wants an empty folder, which is otherwise made at boot
        before = 'mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec "$@"'
        command = ["unshare", "--mount", "sh", "-c", before, "sh", *command]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr is not None
            said: list[str] = []
            while "Server listening" not in (line := server.stderr.readline()):
                said.append(line)
                assert line, said
            yield HOST, port
        finally:
            server.terminate()
