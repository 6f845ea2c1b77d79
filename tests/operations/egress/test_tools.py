"""Ordinary tools reach listed hosts without settings for a proxy, and end soon at others."""

from __future__ import annotations

import getpass
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scripts.parts import (
    CARGO,
    CURL,
    GIT,
    JAVA,
    NPM,
    OPENSSH,
    PIP,
    POSTGRESQL,
    SANDBOX,
    WGET,
    Part,
)
from tests.operations.egress.servers import Hosts, Programs, Ran, Serve, programs
from tests.operations.egress.sites import (
    PACKAGES,
    Files,
    Repositories,
    node_registry,
    python_index,
    rust_registry,
    ssh_server,
)
from tests.support.binaries import needs
from tests.support.certificates import certificate, server_context
from tests.support.sql_servers import DATABASE, HOST, PASSWORD, READER, postgres

pytestmark = [pytest.mark.asyncio, needs(SANDBOX)]

CA = "ca.pem"
URL = f"https://{PACKAGES}/"
TEXT = b"the text of the host\n"


@dataclass(frozen=True)
class Tool:
    """A command of one tool.

    Attributes:
        said: in its output, once it has reached the host.
        site: what the host serves over TLS.
    """

    part: Part | None
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    said: str = TEXT.decode()
    site: Callable[[], Serve] = lambda: Files({"/": TEXT})

    async def run(self, running: Programs) -> Ran:
        return await running.run(*self.argv, env=self.env, wall_s=180)


PIP_OPTIONS = f"--no-cache-dir --index-url {URL}simple/"
NODE_FETCH = f"fetch('{URL}').then(answer => answer.text()).then(console.log)"
NODE_GET = f"require('https').get('{URL}', answer => answer.pipe(process.stdout))"
OPENER = f"import urllib.request as u; print(u.urlopen('{URL}').read().decode())"
CLIENT = f"""
import http.client, ssl
context = ssl.create_default_context(cafile="{CA}")
client = http.client.HTTPSConnection("{PACKAGES}", context=context)
for _ in range(2):
    client.request("GET", "/")
    print(client.getresponse().read().decode())
"""
JAVA_CLIENT = """
import java.net.URI;
import java.net.http.*;

class Get {
    public static void main(String[] arguments) throws Exception {
        var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        var request = HttpRequest.newBuilder(URI.create(arguments[0])).build();
        System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
    }
}
"""
TRUST = "-noprompt -keystore trust.p12 -storepass changeit"
JAVA_TRUST = "-Djavax.net.ssl.trustStore=trust.p12 -Djavax.net.ssl.trustStorePassword=changeit"

TLS_TOOLS = {
    "pip download": Tool(
        PIP,
        ("bash", "-c", f"python3 -m pip download {PIP_OPTIONS} --dest got small"),
        {"REQUESTS_CA_BUNDLE": CA},
        "Successfully downloaded small",
        python_index,
    ),
    "pip install": Tool(
        PIP,
        (
            *("bash", "-ec"),
            f"python3 -m pip install {PIP_OPTIONS} --target here small;"
            " PYTHONPATH=here python3 -c 'import small; print(small.answer)'",
        ),
        {"REQUESTS_CA_BUNDLE": CA},
        "42",
        python_index,
    ),
    "npm": Tool(
        NPM,
        ("bash", "-ec", "npm install small; node -p 'require(\"small\")'"),
        {"npm_config_registry": URL, "npm_config_cafile": CA},
        "42",
        node_registry,
    ),
    "fetch of Node": Tool(NPM, ("node", "-e", NODE_FETCH), {"NODE_EXTRA_CA_CERTS": CA}),
    "https of Node": Tool(NPM, ("node", "-e", NODE_GET), {"NODE_EXTRA_CA_CERTS": CA}),
    "curl": Tool(CURL, ("curl", "-sS", "--http1.1", "--cacert", CA, URL)),
    "wget": Tool(WGET, ("wget", "-O", "-", f"--ca-certificate={CA}", URL)),
    "urllib": Tool(None, ("python3", "-c", OPENER), {"SSL_CERT_FILE": CA}),
    "http.client": Tool(None, ("python3", "-c", CLIENT), {}, f"{TEXT.decode()}\n" * 2),
    "Java": Tool(
        JAVA,
        (
            *("bash", "-ec"),
            f"keytool -importcert -file {CA} {TRUST}; java {JAVA_TRUST} Get.java {URL}",
        ),
    ),
}


def tools(known: dict[str, Tool]) -> list[object]:
    """Return a parameter for each tool."""
    return [
        pytest.param(tool, id=name, marks=[] if tool.part is None else needs(tool.part))
        for name, tool in known.items()
    ]


def authority(folder: Path) -> Path:
    """Write the host's certificate to `CA`, and return it with its key."""
    pem = certificate(folder, PACKAGES)
    text = pem.read_text()
    (folder / CA).write_text(text[text.index("-----BEGIN CERTIFICATE") :])
    return pem


@pytest.mark.parametrize("tool", tools(TLS_TOOLS))
async def test_a_tool_reaches_a_listed_host(tool: Tool, tmp_path: Path) -> None:
    places, pem = Hosts(), authority(tmp_path)
    (tmp_path / "Get.java").write_text(JAVA_CLIENT)
    async with (
        places.serving(PACKAGES, 443, tool.site(), tls=server_context(pem)),
        programs(tmp_path, places, PACKAGES) as running,
    ):
        ran = await tool.run(running)

    assert tool.said in ran.said
    assert ran.code == 0, ran.said
    assert set(ran.verdicts()) == {(PACKAGES, 443, "allowed")}


CLONE_AND_PUSH = """
options="-o IdentitiesOnly=yes -o StrictHostKeyChecking=accept-new"
export GIT_SSH_COMMAND="ssh -i $PWD/key $options"
git -c http.sslCAInfo="$PWD/ca.pem" clone "$1" small
cd small
echo changed >> read.me
git commit --quiet --all --message "Change it"
git -c http.sslCAInfo="$OLDPWD/ca.pem" push origin HEAD:main
"""
AUTHOR = {
    f"GIT_{who}_{what}": "somebody@host.example"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}
GIT_OVER_TLS = Tool(GIT, ("bash", "-ec", CLONE_AND_PUSH, "", f"{URL}small.git"), AUTHOR)
PSQL = Tool(
    POSTGRESQL,
    ("psql", "-h", PACKAGES, "-U", READER, "-Atc", "SELECT 6 * 7", DATABASE),
    {"PGPASSWORD": PASSWORD},
)


def git_over_ssh(path: str) -> Tool:
    url = f"ssh://{getpass.getuser()}@{PACKAGES}{path}"
    return Tool(OPENSSH, ("bash", "-ec", CLONE_AND_PUSH, "", url), AUTHOR)


def git(*words: str | Path) -> str:
    """Run Git outside the sandbox; return its output."""
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def repository(folder: Path) -> Path:
    """Make a bare repository with one commit, and return it."""
    source, made = folder / "source", folder / "hosted" / "small.git"
    git("init", "--quiet", "--initial-branch=main", source)
    (source / "read.me").write_text("first\n")
    git("-C", source, "add", "read.me")
    identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@host.example")
    git("-C", source, *identity, "commit", "--quiet", "--message", "Start")
    git("clone", "--quiet", "--bare", source, made)
    return made


def subjects(made: Path) -> list[str]:
    return git("-C", made, "log", "--format=%s", "main").splitlines()


@needs(GIT)
async def test_git_clones_and_pushes_over_https(tmp_path: Path) -> None:
    places, pem, made = Hosts(), authority(tmp_path), repository(tmp_path)
    backend = Path(git("--exec-path").strip()) / "git-http-backend"
    served = Repositories(made.parent, backend)
    async with (
        places.serving(PACKAGES, 443, served, tls=server_context(pem)),
        programs(tmp_path, places, PACKAGES) as running,
    ):
        ran = await GIT_OVER_TLS.run(running)

    assert ran.code == 0, ran.said
    assert subjects(made) == ["Change it", "Start"]
    assert set(ran.verdicts()) == {(PACKAGES, 443, "allowed")}


@needs(GIT)
@needs(OPENSSH)
async def test_git_clones_and_pushes_over_ssh(tmp_path: Path) -> None:
    places, made = Hosts(), repository(tmp_path)
    async with programs(tmp_path, places, f"{PACKAGES}:22") as running:
        with ssh_server(tmp_path) as places.places[PACKAGES, 22]:
            ran = await git_over_ssh(str(made)).run(running)

    assert ran.code == 0, ran.said
    assert subjects(made) == ["Change it", "Start"]
    assert set(ran.verdicts()) == {(PACKAGES, 22, "allowed")}


@needs(POSTGRESQL)
async def test_a_client_of_postgresql_reaches_its_server(tmp_path: Path) -> None:
    places = Hosts()
    async with programs(tmp_path, places, f"{PACKAGES}:5432") as running:
        with postgres() as server:
            places.places[PACKAGES, 5432] = HOST, server.port
            ran = await PSQL.run(running)

    assert ran.said == "42\n"
    assert ran.verdicts() == [(PACKAGES, 5432, "allowed")]


MANIFEST = """
[package]
name = "large"
version = "1.0.0"
edition = "2021"

[dependencies]
small = { version = "1", registry = "own" }
"""


def cargo(folder: Path) -> tuple[Tool, tuple[str, ...]]:
    """Write a program that needs `small`; return the tool, and what it must be able to read."""
    asked = ["rustc", "--print", "sysroot"]
    toolchain = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    (folder / "src").mkdir()
    (folder / "src" / "main.rs").write_text('fn main() { println!("{}", small::answer()); }\n')
    (folder / "Cargo.toml").write_text(MANIFEST)
    env = {
        "PATH": f"{toolchain}/bin:/usr/bin:/bin",
        "CARGO_REGISTRIES_OWN_INDEX": f"sparse+{URL}",
        "SSL_CERT_FILE": CA,
    }
    return Tool(CARGO, ("cargo", "run"), env, "\n42\n", rust_registry), (toolchain,)


@needs(CARGO)
async def test_cargo_reaches_a_listed_registry(tmp_path: Path) -> None:
    places, pem = Hosts(), authority(tmp_path)
    tool, readable = cargo(tmp_path)
    async with (
        places.serving(PACKAGES, 443, tool.site(), tls=server_context(pem)),
        programs(tmp_path, places, PACKAGES, readable=readable) as running,
    ):
        ran = await tool.run(running)

    assert tool.said in ran.said
    assert ran.code == 0, ran.said
    assert set(ran.verdicts()) == {(PACKAGES, 443, "allowed")}


@needs(CARGO)
async def test_cargo_ends_at_a_registry_that_is_not_listed(tmp_path: Path) -> None:
    authority(tmp_path)
    tool, readable = cargo(tmp_path)
    async with programs(tmp_path, Hosts(), "other.example", readable=readable) as running:
        ran = await tool.run(running)

    assert (ran.reason, ran.code) == ("exited", 101)
    assert ran.verdicts() == [(PACKAGES, 0, "not_allowed")]


OTHERS = {"Git over HTTPS": GIT_OVER_TLS, "Git over SSH": git_over_ssh("/small.git"), "psql": PSQL}
EVERY = tools(TLS_TOOLS | OTHERS)


@pytest.mark.parametrize("tool", EVERY)
async def test_a_tool_ends_by_itself_at_a_host_that_is_not_listed(
    tool: Tool, tmp_path: Path
) -> None:
    authority(tmp_path)
    (tmp_path / "Get.java").write_text(JAVA_CLIENT)
    places = Hosts()
    async with programs(tmp_path, places, "other.example:22,443,5432") as running:
        ran = await tool.run(running)

    assert ran.reason == "exited"
    assert ran.code not in {0, 127}
    assert ran.verdicts() == [(PACKAGES, 0, "not_allowed")]
    assert places.asked == []
