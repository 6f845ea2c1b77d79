"""Every setting, its default, and where a value may come from.

Precedence, strongest first: arguments, environment (`TOLLGATE_…`), `.env`,
`config.yml`, defaults. Nested keys join with two
underscores: `TOLLGATE_SUB_AGENT__MAX_ITERATIONS=5`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)
from yaml import YAMLError

from app.core.errors import ConfigurationError

Strictness = Literal["lenient", "standard", "strict"]


class Section(BaseModel):
    """A group of settings: unknown keys are refused, so that a typo is seen."""

    model_config = ConfigDict(extra="forbid")


class CodeExecutionSettings(Section):
    """Python execution levels, keys as in the seeds' `config.yml`."""

    default_strictness: Strictness = Field(
        default="standard", description="Level of a call that names none."
    )
    extra_allowed_modules: dict[Strictness, list[str]] = Field(
        default_factory=dict, description="Further modules each level may import."
    )


class SubAgentSettings(Section):
    """Delegation limits, keys as in the seeds' `config.yml`."""

    max_iterations: int = Field(
        default=3, ge=1, le=100, description="Model requests of one sub-agent."
    )
    max_concurrency: int = Field(default=3, ge=1, le=32, description="Sub-agents at the same time.")
    timeout: int = Field(default=60, ge=1, le=3600, description="Seconds per model request.")


class Settings(BaseSettings):
    """One instance per process, built by `load_settings`, passed down by the composition root."""

    model_config = SettingsConfigDict(
        env_prefix="TOLLGATE_",
        env_nested_delimiter="__",
        env_file=".env",
        env_file_encoding="utf-8",
        yaml_file="config.yml",
        yaml_file_encoding="utf-8",
        extra="ignore",
        populate_by_name=True,
    )

    # Service
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8420, ge=0, le=65535, description="Port; 0 picks a free one.")
    data_dir: Path = Field(
        default=Path("data"), description="Database, workspace, artifacts, operation logs."
    )
    workspace: Path | None = Field(
        default=None, description="Root of the default project; `<data_dir>/workspace` when unset."
    )
    plugin_dir: Path | None = Field(
        default=None, description="Folder of plugin tools; `<data_dir>/plugins` when unset."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least that is logged."
    )
    log_format: Literal["console", "json"] = Field(
        default="console", description="Lines for people, or one JSON object each."
    )

    # Who may talk to it
    token: SecretStr | None = Field(
        default=None, description="A bearer token with every right; more with `tollgate token`."
    )
    allowed_origins: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        description="Browser origins besides the service's own, comma-separated.",
    )
    allowed_hosts: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        description="Host names besides loopback that requests may name, comma-separated.",
    )

    # The model
    anthropic_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("anthropic_api_key", "ANTHROPIC_API_KEY"),
        description="Key of the model provider; without it the service runs tools only.",
    )
    anthropic_base_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("anthropic_base_url", "ANTHROPIC_BASE_URL"),
        description="Any server that speaks the Messages protocol.",
    )
    model: str = Field(default="claude-sonnet-5-5", description="Model name of new sessions.")
    max_tokens: int = Field(default=8192, ge=1, description="Output tokens per model request.")
    temperature: float | None = Field(
        default=None, ge=0, le=2, description="Left to the model when unset."
    )
    thinking_budget: int = Field(default=0, ge=0, description="Thinking tokens; 0 turns it off.")
    max_iterations: int = Field(
        default=15, ge=1, le=1000, description="Model requests per run before it stops."
    )
    model_retries: int = Field(
        default=2, ge=0, le=10, description="Repetitions of a model request that failed early."
    )
    model_timeout_s: float = Field(
        default=600, gt=0, description="Seconds without a byte before a model request has failed."
    )

    # Tool calls
    tool_max_workers: int = Field(
        default=4, ge=1, le=6, description="Calls of one batch that run at the same time."
    )
    tool_timeout_s: float = Field(
        default=120, gt=0, description="Deadline of a call whose tool names none."
    )
    tool_output_chars: int = Field(
        default=40_000, ge=1000, description="Result text per call; the rest goes to an artifact."
    )
    enable_cache: bool = Field(default=True, description="Share results of equal read calls.")
    cache_ttl: float = Field(default=300, ge=0, description="Seconds a shared result lives.")
    loop_warn_after: int = Field(
        default=3, ge=1, description="Equal calls with equal results before the model is told."
    )
    loop_refuse_after: int = Field(
        default=6, ge=2, description="Equal calls with equal results before the next is refused."
    )
    confirm_dangerous: bool = Field(
        default=True, description="The built-in hook that asks before dangerous operations."
    )
    confirmation_ttl_s: float = Field(
        default=600, ge=0, description="Seconds a confirmation waits; 0 means without end."
    )
    unattended: Literal["deny", "park"] = Field(
        default="deny", description="What asks while no client can answer: denied, or kept waiting."
    )

    # WebSocket and events
    heartbeat_s: float = Field(
        default=25, gt=0, description="Seconds between heartbeats on a connection."
    )
    event_ring: int = Field(default=2000, ge=10, description="Recent events kept in memory.")
    replay_limit: int = Field(default=1000, ge=1, description="Events one resume may replay.")
    outbox_frames: int = Field(
        default=1000, ge=10, description="Messages that may wait for a slow client."
    )
    outbox_bytes: int = Field(default=4 << 20, ge=1 << 16, description="Their size in bytes.")
    max_frame_bytes: int = Field(
        default=1 << 20, ge=1 << 10, description="Largest message a client may send, in bytes."
    )
    command_rate: float = Field(default=20, gt=0, description="Commands per second and connection.")
    command_burst: int = Field(default=60, ge=1, description="Commands at once, after a pause.")
    max_subscriptions: int = Field(
        default=64, ge=1, description="Sessions one connection may watch."
    )
    max_connections: int = Field(default=20, ge=1, description="Connections per user.")
    send_timeout_s: float = Field(
        default=10, gt=0, description="Seconds a client may take to accept a message."
    )
    hello_timeout_s: float = Field(
        default=10, gt=0, description="Seconds for the first message of a connection."
    )

    code_execution: CodeExecutionSettings = Field(default_factory=CodeExecutionSettings)
    sub_agent: SubAgentSettings = Field(default_factory=SubAgentSettings)

    @property
    def database_path(self) -> Path:
        return self.data_dir / "tollgate.db"

    @property
    def workspace_dir(self) -> Path:
        return self.workspace or self.data_dir / "workspace"

    @property
    def plugins_dir(self) -> Path:
        return self.plugin_dir or self.data_dir / "plugins"

    @property
    def is_loopback(self) -> bool:
        return self.host in ("127.0.0.1", "::1", "localhost")

    @property
    def client_url(self) -> str:
        """Where a client on this machine finds the service."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - compared, not bound
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        yaml = YamlConfigSettingsSource(settings_cls)
        return init_settings, env_settings, dotenv_settings, file_secret_settings, yaml

    @field_validator("allowed_origins", "allowed_hosts", mode="before")
    @classmethod
    def _split_list(cls, value: Any) -> Any:
        """`a, b` → `["a", "b"]`, so that a list fits into one environment variable."""
        if isinstance(value, str):
            return [item.strip() for item in value.split(",") if item.strip()]
        return value


def load_settings(**overrides: Any) -> Settings:
    """Read the settings.

    Raises:
        ConfigurationError: a value does not fit; the message names the setting and the fix.
    """
    try:
        return Settings(**overrides)
    except YAMLError as error:
        message = f"config.yml is not valid YAML: {' '.join(str(error).split())}"
        raise ConfigurationError(message) from None
    except ValidationError as error:
        lines = [
            f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False)
        ]
        raise ConfigurationError("Invalid settings: " + "; ".join(lines), errors=lines) from None
