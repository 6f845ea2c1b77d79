"""The image is built and compose.yaml runs it, where a Docker daemon is at hand."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from PIL import Image
from websockets.sync.client import connect

from scripts import prove_tools
from scripts.dockerfile import parse
from scripts.parts import DOCKER
from tests.packaging.containers import TEXT, TOKEN, Composed, docker, outside
from tests.support.binaries import NEEDS, needs
from tests.support.source import ROOT

pytestmark = needs(DOCKER)
RECIPE = ROOT / "examples" / "container"
# Build containers reach package indexes as this machine does, also by its own proxy.
BUILD = ("build", "--network=host")


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """The image of this tree, under a name of its own."""
    for stage in parse((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        if not docker("images", "--quiet", stage.base):
            docker("pull", stage.base, check=False)
        if not docker("images", "--quiet", stage.base):
            pytest.skip(f"{NEEDS}{DOCKER.name}: the image {stage.base} cannot be had")
    name = f"tollgate:test-{uuid4().hex[:8]}"
    docker(*BUILD, "--tag", name, ".")
    yield name
    docker("rmi", "--no-prune", name, check=False)


@pytest.fixture(scope="module")
def outer() -> Iterator[int]:
    with outside() as port:
        yield port


def composed(folder: Path, *files: Path, **service: object) -> Iterator[Composed]:
    """compose.yaml with what only a test needs: the name of the image, a way to this machine."""
    only_here = {"extra_hosts": ["host.docker.internal:host-gateway"], **service}
    override = folder / "only-here.yaml"
    override.write_text(yaml.safe_dump({"services": {"tollgate": only_here}}), encoding="utf-8")
    made = Composed(f"tollgate-test-{uuid4().hex[:8]}", folder, [*files, override])
    made.settings()
    try:
        yield made
    finally:
        made.compose("down", "--volumes", "--timeout", "20")


@pytest.fixture(scope="module")
def service(image: str, outer: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    """A running service with settings of its own in `.env`."""
    folder = tmp_path_factory.mktemp("compose")
    for made in composed(folder, ROOT / "compose.yaml", image=image):
        made.settings(
            TOLLGATE_ALLOWED_HOSTS="tollgate.test",
            TOLLGATE_MODEL_PROVIDER="openai",
            TOLLGATE_MODEL="small",
            OPENAI_BASE_URL=f"http://host.docker.internal:{outer}/v1",
            TOLLGATE_SCREENS__ALLOW_PRIVATE="true",
            TOLLGATE_SUB_AGENT__MAX_ITERATIONS="7",
            # Meant for a service outside of a container.
            TOLLGATE_HOST="127.0.0.1",
            TOLLGATE_DATA_DIR="elsewhere",
        )
        made.up()
        yield made


@pytest.mark.requirement("CFG-02")
def test_compose_serves_health_and_has_no_rights_that_it_does_not_need(service: Composed):
    assert service.ask("/health")["status"] == "ok"
    status = service.run("cat", "/proc/1/status")
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert facts["Uid"].split() == ["10001"] * 4
    assert {facts[name] for name in ("CapEff", "CapPrm", "CapBnd")} == {"0" * 16}
    assert facts["NoNewPrivs"] == "1"
    host = service.inspect()["HostConfig"]
    assert (host["ReadonlyRootfs"], host["Privileged"]) == (True, False)
    assert service.run("sh", "-c", "touch /opt/x || echo refused").strip() == "refused"
    ports = service.inspect()["NetworkSettings"]["Ports"]["8420/tcp"]
    assert ports == [{"HostIp": "127.0.0.1", "HostPort": str(service.port)}]


def test_settings_of_the_env_file_reach_the_service(service: Composed):
    given = "from app.config.settings import load_settings as l; s = l(); "
    shown = "print(s.sub_agent.max_iterations, s.model_provider, s.data_dir, s.host, s.port)"
    assert service.run("python", "-c", given + shown).split() == [
        *("7", "openai", "/data", "0.0.0.0", "8420")
    ]
    assert service.status("/api/v1/health", host="tollgate.test") == 200
    assert service.status("/api/v1/health", host="other.test") == 403


def test_an_openai_compatible_model_answers(service: Composed):
    session = service.ask("/sessions", {})["id"]
    with connect(f"ws{service.url[4:]}/api/v1/ws") as socket:
        commands = (
            {"type": "hello", "auth": {"token": TOKEN}},
            {"type": "subscribe", "session_id": session},
            {"type": "user_message", "session_id": session, "content": "Hello"},
        )
        for command in commands:
            socket.send(json.dumps({"id": uuid4().hex, **command}))
        frames = iter(json.loads(frame) for frame in socket)
        ended = next(frame for frame in frames if frame["type"] in ("run_finished", "error"))
    assert ended["type"] == "run_finished", ended
    messages = service.ask(f"/sessions/{session}/messages")
    assert TEXT in json.dumps(messages)


def test_every_layer_of_the_sandbox_is_used_but_the_one_that_docker_refuses(service: Composed):
    checks = json.loads(service.run("tollgate", "doctor", "--json"))["checks"]
    layers = {
        check["name"].removeprefix("layer "): check["state"]
        for check in checks
        if check["name"].startswith("layer ")
    }
    unused = {name for name, state in layers.items() if state != "ok"}
    # `uid-drop` is for a service that is root. Older kernels lack parts of Landlock.
    assert unused - {"landlock-net", "landlock-scope"} == {"namespaces", "uid-drop"}
    levels = {check["name"]: check["state"] for check in checks if "sandbox" in check["name"]}
    assert set(levels.values()) == {"ok"}, levels


def test_with_the_profile_of_the_repository_commands_reach_allowed_hosts(
    image: str, outer: int, tmp_path: Path
):
    files = (ROOT / "compose.yaml", ROOT / "compose.namespaces.yaml")
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    for made in composed(tmp_path, *files, image=image):
        made.settings(
            TOLLGATE_SANDBOX__ALLOWED_HOSTS=f"host.docker.internal:{outer}",
            TOLLGATE_SANDBOX__ALLOW_NETWORKS="172.16.0.0/12",
        )
        made.up()
        checks = json.loads(made.run("tollgate", "doctor", "--json"))["checks"]
        said = {check["name"]: check["state"] for check in checks}
        assert said["network by host"] == "ok"
        fetch = (
            "python3 -c 'import urllib.request as u;"
            f' print(u.urlopen("http://host.docker.internal:{outer}/").status)\''
        )
        fetched = made.call("bash", command=fetch)
        assert fetched["raw_result"]["data"]["stdout"] == "200\n", fetched
        refused = made.call("bash", command="getent hosts other.example; true")
        assert refused["raw_result"]["data"]["network"][0]["code"] == "not_allowed", refused


def test_the_tools_that_run_programs_work_confined(service: Composed):
    assert prove_tools.main([service.url, TOKEN]) == 0


def test_a_page_is_pictured_with_letters_and_colours(service: Composed, outer: int):
    page = f"http://host.docker.internal:{outer}/"
    answer = service.call("screenshot", url=page, output_path="shop.png")
    assert answer["status"] == "success", answer
    written = base64.b64decode(service.run("base64", "/data/workspace/shop.png"))
    picture = Image.open(BytesIO(written)).convert("RGB")
    colours = {colour for _, colour in picture.getcolors(1 << 24) or []}
    assert {(0, 255, 0), (0, 0, 0)} <= colours


def test_a_restart_keeps_what_was_stored(service: Composed):
    written = service.call("write_file", path="kept.txt", content="before the restart\n")
    assert written["status"] == "success", written
    started = service.inspect()["State"]["StartedAt"]
    service.compose("restart")
    service.up()
    assert service.inspect()["State"]["StartedAt"] != started
    assert "before the restart" in service.call("read_file", path="kept.txt")["text"]
    kept = service.ask(f"/sessions/{written['session_id']}/calls")
    assert json.dumps(kept).count(written["record"]["id"]) >= 1


def test_an_upgrade_migrates_the_database_of_an_older_version(service: Composed, image: str):
    service.call("write_file", path="old.txt", content="of the old version\n")
    sessions = {row["id"] for row in service.ask("/sessions?kind=all&limit=100")["sessions"]}
    service.compose("down")  # the volume stays
    older = "from pathlib import Path; from app.db.schema import downgrade, current_revision as c"
    go_back = f"{older}; p = Path('/data/tollgate.db'); downgrade(p, '0012'); print(c(p))"
    run = ("run", "--rm", "--no-TTY", "--entrypoint", "python", "tollgate", "-c", go_back)
    assert service.compose(*run).strip() == "0012"
    service.up()
    now = "from pathlib import Path; from app.db.schema import HEAD, current_revision as c"
    check = f"{now}; print(c(Path('/data/tollgate.db')) == HEAD)"
    assert service.run("python", "-c", check).strip() == "True"
    assert "of the old version" in service.call("read_file", path="old.txt")["text"]
    assert sessions <= {
        row["id"] for row in service.ask("/sessions?kind=all&limit=100")["sessions"]
    }
    assert service.ask("/admin/audit/verify", {})["ok"] is True


def test_the_service_does_not_start_without_a_token(image: str, tmp_path: Path):
    for made in composed(tmp_path, ROOT / "compose.yaml", image=image):
        (tmp_path / ".env").write_text("", encoding="utf-8")
        with pytest.raises(AssertionError, match="set it to a long random text"):
            made.compose("config")
        made.settings()


@pytest.fixture
def extended(image: str, tmp_path: Path) -> Iterator[Composed]:
    """The recipe of docs/operations.md, on a repository that the image's user does not own."""
    context = tmp_path / "recipe"
    shutil.copytree(RECIPE, context)
    recipe = (context / "Dockerfile").read_text(encoding="utf-8")
    (context / "Dockerfile").write_text(recipe.replace("tollgate:0.2.0", image), encoding="utf-8")
    name = f"{image}-with-plugins"
    docker(*BUILD, "--tag", name, str(context))
    owner = 23456
    for folder in ("data", "shop"):
        (tmp_path / folder).mkdir()
        os.chown(tmp_path / folder, owner, owner)
    for made in composed(
        tmp_path, ROOT / "compose.yaml", RECIPE / "compose.override.yaml", image=name
    ):
        made.settings(
            REPOSITORY=str(tmp_path / "shop"),
            REPOSITORY_USER=f"{owner}:{owner}",
            TOLLGATE_CODE_EXECUTION__EXTRA_ALLOWED_MODULES='{"standard": ["humanize"]}',
        )
        made.up()
        yield made
    docker("rmi", "--no-prune", name, check=False)


def test_the_recipe_brings_a_repository_and_a_plugin_with_its_package(
    extended: Composed, tmp_path: Path
):
    (tmp_path / "shop" / "stock.txt").write_bytes(b"x" * 2_000_000)
    answer = extended.call("file_size", path="stock.txt")
    assert (answer["status"], answer["text"]) == ("success", "2.0 MB")
    code = "import humanize\nhumanize.intcomma(1234567)"
    computed = extended.call("execute_python", code=code, strictness="standard")
    assert "1,234,567" in computed["text"], computed
    made = extended.call("bash", command="git init --quiet && echo done > made.txt && id -u")
    assert made["status"] == "success", made
    assert (tmp_path / "shop" / "made.txt").stat().st_uid == 23456
    assert (tmp_path / "data" / "tollgate.db").is_file()
