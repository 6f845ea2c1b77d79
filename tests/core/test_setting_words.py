"""Every setting is explained in Chinese on the page of settings, and names what the help names."""

from __future__ import annotations

import json
import re
from pathlib import Path

from app.core.origins import setting_fields
from app.core.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
CHINESE = json.loads((ROOT / "web/src/i18n/settings.zh.json").read_text(encoding="utf-8"))
HELP = {".".join(path): field.description or "" for path, field in setting_fields(Settings)}


def _named(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


def test_every_setting_has_its_words_and_no_other_has():
    assert list(CHINESE) == list(HELP)


def test_they_are_chinese_and_name_the_same_things():
    for name, help_ in HELP.items():
        said = CHINESE[name]
        assert any("一" <= character <= "鿿" for character in said), name
        assert _named(said) == _named(help_), name
