"""Model names, with or without their provider as prefix (`openai:gpt-5`)."""

from __future__ import annotations

from typing import Literal, get_args

Provider = Literal["anthropic", "openai"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)


def split_model(name: str, default: Provider) -> tuple[Provider, str]:
    """Return the provider, and the provider's name of the model.

    Names may contain colons (`llama3:8b`), so only known providers are split off.
    """
    provider, colon, rest = name.partition(":")
    for known in PROVIDERS:
        if colon and provider == known:
            return known, rest
    return default, name
