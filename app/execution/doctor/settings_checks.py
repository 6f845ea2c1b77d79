"""Checks of doctor on the settings: unknown names, and the rules file."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.errors import ConfigurationError
from app.core.escaping import visible
from app.core.setting_names import WORDS, WrongName, wrong_names
from app.core.settings import Settings
from app.execution.doctor.check import Check, State


def settings_checks(settings: Settings) -> Iterator[Check]:
    """Check for unknown setting names, and the rules file."""
    for wrong in wrong_names(Settings, settings.data_dir):
        yield _name(wrong)
    if settings.rules_file is not None:
        yield _rules_file(settings)


def _name(wrong: WrongName) -> Check:
    name, source = visible(wrong.name), WORDS[wrong.source]
    if wrong.meant is not None:
        values = {"name": name, "source": source, "meant": wrong.meant}
        return Check("setting.misspelt", "broken", "setting.unknown", **values)
    code = "setting.unknown" if wrong.is_misspelt else "setting.foreign"
    state: State = "broken" if wrong.is_misspelt else "warning"
    return Check(code, state, "setting.unknown", name=name, source=source)


def _rules_file(settings: Settings) -> Check:
    from app.governance.rule_file import read_rule_file

    path = settings.rules_file
    assert path is not None
    try:
        read_rule_file(path)
    except ConfigurationError as error:
        return Check("rules_file", "broken", "error", error=visible(error.message))
    return Check("rules_file", "ok", "path", path=path.absolute())
