"""The compose file: closed by default."""

import pytest
import yaml

from scripts.dockerfile import parse
from tests.support.source import ROOT


@pytest.fixture
def compose():
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def service(compose):
    return compose["services"]["tollgate"]


def test_the_service_is_published_on_loopback_unless_env_says_otherwise(service):
    published = {"host_ip": "${TOLLGATE_HOST:-127.0.0.1}", "published": "${TOLLGATE_PORT:-8420}"}
    assert service["ports"] == [{"target": 8420, **published}]


def test_every_setting_of_the_env_file_is_passed_and_the_container_keeps_its_own(service):
    assert service["env_file"] == [{"path": ".env", "required": False}]
    own = {name: value for name, value in service["environment"].items() if value is not None}
    own.pop("TOLLGATE_TOKEN")
    assert own == {
        "TOLLGATE_HOST": "0.0.0.0",
        "TOLLGATE_PORT": "8420",
        "TOLLGATE_DATA_DIR": "/data",
    }


@pytest.mark.requirement("CFG-02")
def test_the_service_does_not_start_without_a_token(service):
    assert service["environment"]["TOLLGATE_TOKEN"].startswith("${TOLLGATE_TOKEN:?")


def test_the_service_has_no_rights_that_it_does_not_need(service):
    rights = {key: service[key] for key in ("init", "read_only", "cap_drop", "security_opt")}
    assert rights == {
        "init": True,
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
    }
    assert [mount.split(":")[0] for mount in service["tmpfs"]] == ["/tmp"]


def test_the_data_outlives_the_container(compose, service):
    volume, target = service["volumes"][0].split(":")
    final = parse((ROOT / "Dockerfile").read_text(encoding="utf-8"))[-1]
    assert volume in compose["volumes"]
    declared = final.last("VOLUME")
    assert declared is not None
    assert declared.words() == [target]


def test_the_health_check_asks_the_health_endpoint(service):
    kind, python, _, program = service["healthcheck"]["test"]
    assert (kind, python) == ("CMD", "python")
    assert "http://127.0.0.1:8420/api/v1/health" in program
    compile(program, "healthcheck", "exec")
