"""The Helm chart: rendered by Helm, and the service started with what came out."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from app import __version__
from app.config.origins import env_name, setting_fields
from app.config.settings import Settings
from scripts.dockerfile import parse
from tests.support.binaries import require_binary
from tests.support.http import HttpClient
from tests.support.server_process import server
from tests.support.source import ROOT

CHART = ROOT / "deploy" / "helm" / "tollgate"
PAGE = ROOT / "docs" / "kubernetes.md"
TOKEN = "0123456789abcdef" * 4
USUAL = ("--set", "secretName=tollgate")
INGRESS = ("--set", "ingress.enabled=true,ingress.host=tollgate.example")
Manifest = dict[str, Any]


def helm(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(require_binary("helm")), *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def rendered(*options: str) -> dict[str, Manifest]:
    """What an installation in the namespace `agents` creates, by kind."""
    made = helm("template", "tollgate", str(CHART), "--namespace", "agents", *options)
    assert made.returncode == 0, made.stderr
    return {item["kind"]: item for item in yaml.safe_load_all(made.stdout)}


def refusal(*options: str) -> str:
    """Why Helm does not install it."""
    made = helm("template", "tollgate", str(CHART), *options)
    assert made.returncode != 0, made.stdout
    return made.stderr


def container_of(manifests: dict[str, Manifest]) -> Manifest:
    (container,) = manifests["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    assert isinstance(container, dict)
    return container


def environment_of(manifests: dict[str, Manifest]) -> dict[str, str]:
    return {item["name"]: item["value"] for item in container_of(manifests)["env"]}


def printed_values() -> str:
    """Those of the page."""
    page = PAGE.read_text("utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return str(block)


def test_values_and_those_of_the_page_fit_the_schema():
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    Draft7Validator.check_schema(schema)
    usual = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    printed = yaml.safe_load(printed_values())
    check = Draft7Validator(schema)
    assert list(check.iter_errors(usual)) == []
    assert list(check.iter_errors({**usual, **printed})) == []
    assert usual.keys() == schema["properties"].keys() - {"global"}


def test_chart_and_image_have_the_version_of_the_service():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_helm_finds_nothing_wrong():
    checked = helm("lint", "--strict", str(CHART), *USUAL)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_there_is_one_pod_with_the_rights_that_compose_gives():
    manifests = rendered(*USUAL)
    assert manifests.keys() == {"StatefulSet", "Service"}
    spec = manifests["StatefulSet"]["spec"]
    pod, container = spec["template"]["spec"], container_of(manifests)
    final = parse((ROOT / "Dockerfile").read_text("utf-8"))[-1]
    user, volume = final.last("USER"), final.last("VOLUME")
    assert user is not None
    assert volume is not None
    rights = pod["securityContext"]
    assert (spec["replicas"], rights["runAsNonRoot"]) == (1, True)
    assert f"{rights['runAsUser']}:{rights['runAsGroup']}" == user.text
    assert rights["fsGroupChangePolicy"] == "OnRootMismatch"
    assert rights["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert (pod["automountServiceAccountToken"], pod["enableServiceLinks"]) == (False, False)
    mounts = {item["mountPath"]: item["name"] for item in container["volumeMounts"]}
    assert mounts == {volume.words()[0]: "data", "/tmp": "tmp"}
    assert [claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]] == ["data"]
    selector = manifests["Service"]["spec"]["selector"]
    assert selector.items() <= spec["template"]["metadata"]["labels"].items()


def test_every_name_in_its_environment_is_a_setting(tmp_path: Path):
    (tmp_path / "values.yaml").write_text(printed_values(), "utf-8")
    manifests = rendered("--values", str(tmp_path / "values.yaml"))
    known = {env_name(path) for path, _ in setting_fields(Settings)}
    environment = environment_of(manifests)
    assert environment.keys() <= known
    assert environment["TOLLGATE_ALLOWED_HOSTS"].split(",") == [
        *("tollgate", "tollgate.agents", "tollgate.agents.svc", "tollgate.example"),
    ]
    assert environment["TOLLGATE_SECURE_COOKIE"] == "true"
    assert environment["TOLLGATE_SERVING__TRUSTED_PROXIES"] == "10.42.0.0/16"
    assert environment["TOLLGATE_MODEL"] == "claude-sonnet-5-5"
    (rule,) = manifests["Ingress"]["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert (rule["host"], path["path"]) == ("tollgate.example", "/")
    assert path["backend"]["service"]["name"] == manifests["Service"]["metadata"]["name"]


def test_a_path_and_settings_of_ones_own_win():
    path = ("--set", "ingress.path=/tollgate,ingress.tlsSecretName=tls")
    own = ("--set-string", "settings.TOLLGATE_SECURE_COOKIE=false")
    environment = environment_of(rendered(*USUAL, *INGRESS, *path, *own))
    assert environment["TOLLGATE_ROOT_PATH"] == "/tollgate"
    assert environment["TOLLGATE_SECURE_COOKIE"] == "false"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ((), "secretName"),
        ((*USUAL, "--set", "settings.TOLLGATE_TOKEN=x"), "TOLLGATE_TOKEN"),
        ((*USUAL, "--set", "settings.OPENAI_API_KEY=x"), "OPENAI_API_KEY"),
        ((*USUAL, "--set", "settings.TOLLGATE_PORT=x"), "TOLLGATE_PORT"),
        ((*USUAL, "--set", "settings.TOLLGATE_MAX_TOKENS=4000"), "TOLLGATE_MAX_TOKENS"),
        ((*USUAL, "--set", "replicas=2"), "replicas"),
        ((*USUAL, "--set", "ingress.enabled=true"), "host"),
        ((*USUAL, "--set", "seccompProfile.type=Unconfined"), "seccompProfile"),
        ((*USUAL, "--set", "storage.size=10"), "size"),
    ],
)
def test_values_that_cannot_work_are_refused_by_name(options: tuple[str, ...], named: str):
    assert named in refusal(*options)


async def test_the_service_answers_the_probes_under_the_environment_of_the_chart(tmp_path: Path):
    manifests = rendered(*USUAL, *INGRESS)
    container = container_of(manifests)
    assert container["envFrom"] == [{"secretRef": {"name": "tollgate"}}]
    ours = {"TOLLGATE_HOST": "127.0.0.1", "TOLLGATE_PORT": "0", "TOLLGATE_ALLOW_ANONYMOUS": "false"}
    moved = {"TOLLGATE_DATA_DIR": str(tmp_path / "data"), "TOLLGATE_TOKEN": TOKEN}
    names = environment_of(manifests)["TOLLGATE_ALLOWED_HOSTS"].split(",")
    environment = environment_of(manifests) | ours | moved
    async with (
        server(tmp_path, environment) as running,
        HttpClient(base_url=running.url) as client,
    ):
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            probe = container[kind]["httpGet"]
            headers = {item["name"]: item["value"] for item in probe["httpHeaders"]}
            answer = await client.get(probe["path"], headers=headers)
            assert answer.status_code == 200, (kind, answer.text)
        signed_in = {"authorization": f"Bearer {TOKEN}"}
        for name in names:
            answer = await client.get("/api/v1/me", headers={"host": name, **signed_in})
            assert answer.status_code == 200, (name, answer.text)
        stranger = await client.get("/api/v1/me", headers={"host": "10.0.0.7", **signed_in})
        assert stranger.status_code == 403
        unknown = await client.get("/api/v1/me", headers={"host": names[0]})
        assert unknown.status_code == 401
