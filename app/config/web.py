"""Settings of the web tools: what may be reached, and who searches."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from app.config.sections import Section, check_networks, split_words

SearchProvider = Literal["searxng", "brave", "tavily", "duckduckgo", "ddgs"]
Words = Annotated[list[str], NoDecode]


class WebSettings(Section):
    """Settings of web access. None of them is part of the prompt."""

    allow_networks: Words = Field(
        default_factory=list,
        description="Private networks that pages may be fetched from, such as `10.1.0.0/16`, "
        "comma-separated.",
    )
    allow_hosts: Words = Field(
        default_factory=list,
        description="Fetch pages only from these hosts and their subdomains, comma-separated; all "
        "hosts when empty.",
    )
    deny_hosts: Words = Field(
        default_factory=list,
        description="Never fetch pages from these hosts and their subdomains, comma-separated.",
    )
    respect_robots: Literal["crawl", "always", "never"] = Field(
        default="crawl",
        description="When to obey robots.txt: `crawl` for fetches of several pages, `always`, or "
        "`never`.",
    )
    user_agent: str = Field(
        default="Tollgate/1.0",
        pattern=r"^[\x21-\x7e][\x20-\x7e]{0,199}$",
        description="User-Agent of requests; its first word is matched against robots.txt.",
    )
    per_host: int = Field(
        default=2, ge=1, le=32, description="Maximum concurrent requests per host."
    )
    host_interval_s: float = Field(
        default=0.25,
        ge=0,
        le=60,
        description="Minimum seconds between the starts of two requests to one host.",
    )
    cache_mb: int = Field(
        default=32, ge=0, le=1024, description="Size of the page cache in memory, in MiB."
    )
    search_provider: SearchProvider | Literal["auto", "off"] = Field(
        default="auto",
        description="Provider of `web_search`; `auto` uses the first of searxng, brave and tavily "
        "that has an address or a key, else duckduckgo.",
    )
    searxng_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^/?#@\s]+(/[^?#\s]*)?$",
        description="URL of a SearXNG server with JSON output; may be in a private network.",
    )
    brave_api_key: SecretStr | None = Field(default=None, description="API key of Brave Search.")
    tavily_api_key: SecretStr | None = Field(default=None, description="API key of Tavily.")
    duckduckgo_url: str = Field(
        default="https://html.duckduckgo.com",
        pattern=r"^https?://[^/?#@\s]+(/[^?#\s]*)?$",
        description="URL of DuckDuckGo's HTML search page, which needs no key.",
    )
    search_region: str | None = Field(
        default=None,
        pattern=r"^[a-z]{2}-[a-z]{2}$",
        description="Region of results as country and language, such as `cn-zh`; the provider's "
        "default when unset.",
    )

    @field_validator("allow_networks", "allow_hosts", "deny_hosts", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return split_words(value)

    @field_validator("allow_networks")
    @classmethod
    def _are_networks(cls, value: list[str]) -> list[str]:
        return check_networks(value)

    @field_validator("allow_hosts", "deny_hosts")
    @classmethod
    def _are_hosts(cls, value: list[str]) -> list[str]:
        hosts = [text.removeprefix("*.").strip(".").lower() for text in value]
        for text, host in zip(value, hosts, strict=True):
            if not host or any(mark in host for mark in "/@* "):
                raise ValueError(f"{text!r} is not a host name such as example.org")
        return hosts

    @model_validator(mode="after")
    def _can_search(self) -> WebSettings:
        needed = {
            "searxng": ("searxng_url", self.searxng_url),
            "brave": ("brave_api_key", self.brave_api_key),
            "tavily": ("tavily_api_key", self.tavily_api_key),
        }.get(self.search_provider)
        if needed is not None and needed[1] is None:
            raise ValueError(f"search_provider {self.search_provider} requires {needed[0]}")
        return self

    @property
    def provider(self) -> SearchProvider | None:
        """Provider of `web_search`, or None."""
        if self.search_provider == "off":
            return None
        if self.search_provider != "auto":
            return self.search_provider
        if self.searxng_url is not None:
            return "searxng"
        if self.brave_api_key is not None:
            return "brave"
        return "duckduckgo" if self.tavily_api_key is None else "tavily"
