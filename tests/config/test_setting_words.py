"""What explains a setting in Chinese belongs to one, and names what the help names."""

from __future__ import annotations

import json
import re
from pathlib import Path

from app.config.origins import setting_fields
from app.config.settings import Settings
from tests.support.translations import in_order

ROOT = Path(__file__).resolve().parents[2]
CHINESE = json.loads((ROOT / "web/src/i18n/settings.zh.json").read_text(encoding="utf-8"))
HELP = {".".join(path): field.description or "" for path, field in setting_fields(Settings)}


def _named(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


def test_what_has_words_is_a_setting_and_at_a_release_every_one_has_some():
    in_order(HELP, CHINESE)


def test_they_are_chinese_and_name_the_same_things():
    for name, said in CHINESE.items():
        assert any("一" <= character <= "鿿" for character in said), name
        assert _named(said) == _named(HELP[name]), name
