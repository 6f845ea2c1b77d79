"""Whose files of settings a command reads."""

from __future__ import annotations

import json

from tests.cli.user import User

PLUGIN = "raise SystemExit(open('ran', 'w').close())\n"


def test_a_repository_does_not_choose_settings_for_a_command_in_it(user: User):
    """A command that reads the tools loads plugins, which are programs."""
    assert user.run("init").returncode == 0
    (user.usual / "config.yml").write_text("confirm_dangerous: true\n")
    (user.here / "plugins").mkdir()
    (user.here / "plugins" / "own.py").write_text(PLUGIN)
    (user.here / ".env").write_text(f"TOLLGATE_DATA_DIR={user.here}/own\n")
    (user.here / "config.yml").write_text("plugin_dir: plugins\nport: x\n")

    listed = user.run("tools")
    where = user.run("where")
    facts = json.loads(user.run("where", "--json").stdout)

    assert listed.returncode == 0, listed.stderr
    assert "not loaded" not in listed.stdout
    assert {path.name for path in user.here.iterdir()} == {".env", "config.yml", "plugins"}
    assert facts["data_dir"] == str(user.usual)
    assert facts["settings"] == [str(user.usual / "config.yml")]
    assert facts["unread"] == [str(user.here / ".env"), str(user.here / "config.yml")]
    assert f"Settings: {user.usual / 'config.yml'}." in where.stdout
    assert f"Ignored: {user.here / '.env'}, {user.here / 'config.yml'}." in where.stdout


def test_a_service_is_not_started_without_the_settings_that_an_earlier_version_read(user: User):
    (user.here / "config.yml").write_text("port: 0\n")

    refused = user.run("serve", "--port", "0")
    made = user.usual.exists()
    user.usual.mkdir(parents=True)
    (user.usual / ".env").write_text("TOLLGATE_LOG_LEVEL=error\n")
    with user.serving(cwd=user.here) as served:
        assert served.facts["data"] == str(user.usual)

    assert (refused.returncode, refused.stdout, made) == (2, "", False)
    assert f"{user.here / 'config.yml'} would not be read" in refused.stderr
    assert str(user.usual) in refused.stderr
