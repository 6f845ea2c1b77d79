"""Model names, with or without their provider as prefix (`openai:gpt-5`)."""

from __future__ import annotations

from typing import Literal, get_args

Provider = Literal["anthropic", "openai"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)


def split_model(name: str, default: Provider) -> tuple[Provider, str]:
    """The provider that is asked, and the name it knows the model by.

    Names may hold colons themselves (`llama3:8b`), so only a known provider is cut off.
    """
    provider, colon, rest = name.partition(":")
    for known in PROVIDERS:
        if colon and provider == known:
            return known, rest
    return default, name
