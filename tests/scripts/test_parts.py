"""Parts of the machine: what is here, what is missing, and who may provide it."""

import os
import shutil
import subprocess

from scripts import parts


def test_a_part_is_here_when_all_of_its_programs_and_modules_are():
    assert parts.Part("a", "", programs=("sh",), modules=("json",)).is_here()
    assert not parts.Part("a", "", programs=("sh", "no-such-program")).is_here()
    assert not parts.Part("a", "", programs=("sh",), modules=("no_such_module",)).is_here()
    assert not parts.Part("a", "", programs=("sh",), holds=lambda: False).is_here()


def test_an_ordinary_user_lacks_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert parts.ROOT_USER.is_here()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not parts.ROOT_USER.is_here()


def test_a_machine_without_programs_lacks_every_part_that_packages_would_provide(monkeypatch):
    monkeypatch.setattr(parts, "find_program", lambda _: None)
    monkeypatch.setattr(parts, "postgres_programs", lambda: None)
    assert parts.missing() == [*parts.PACKAGED, parts.POSTGRESQL]
    assert all(part.packages for part in parts.missing())


def test_whoever_may_not_install_is_shown_what_would_provide_each_part(monkeypatch, capsys):
    monkeypatch.setattr(parts, "missing", lambda: [parts.CHROMIUM])
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert parts.main(["install"]) == 1
    printed = capsys.readouterr().err
    assert "only root may install packages" in printed
    assert "apt-get install chromium-headless-shell" in printed


def test_nothing_is_installed_where_nothing_is_missing(monkeypatch):
    monkeypatch.setattr(parts, "missing", list)
    monkeypatch.setattr(subprocess, "run", None)
    assert parts.main(["install"]) == 0


def test_no_two_parts_have_one_name():
    names = [part.name for part in parts.PARTS]
    assert len(set(names)) == len(names)
