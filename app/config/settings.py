"""Every setting, its default, and where a value may come from.

Precedence, strongest first: arguments, environment (`TOLLGATE_…`), `.env` and `config.yml` of
the data folder, defaults. Nested keys join with two underscores:
`TOLLGATE_SUB_AGENT__MAX_ITERATIONS=5`. A relative path in a file starts where the file is.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from app.config.channels import ChannelSettings
from app.config.deprecated_settings import with_new_names
from app.config.images import ImageSettings
from app.config.language_servers import LanguageServersSettings
from app.config.memory import MemorySettings
from app.config.model_options import ModelOptions
from app.config.notifications import NotificationSettings, PublicUrl
from app.config.origins import Origin, SettingPath, origins_of
from app.config.proposals import ProposalSettings
from app.config.push import PushSettings
from app.config.schedules import ScheduleSettings
from app.config.screens import ScreenSettings
from app.config.sections import (
    CodeExecutionSettings,
    EscalationSettings,
    HookSettings,
    LimitSettings,
    ModelPrice,
    ProgressSettings,
    RootPath,
    SandboxSettings,
    SubAgentSettings,
    split_words,
)
from app.config.server import ServingSettings
from app.config.setting_files import ConfigFile, EnvFile, Environment, files_in
from app.config.setting_folder import named_folder, require_folder, start_where_the_file_is
from app.config.setting_names import refusal_of
from app.config.skills import SkillSettings
from app.config.sources import SourceSettings
from app.config.triggers import TriggerSettings
from app.config.user_folders import DATABASE, DataFolder, data_home
from app.config.weather import WeatherSettings
from app.config.web import WebSettings
from app.core.secret_formats import compile_pattern, lines_or_json


class Settings(ModelOptions):
    """One instance per process, built by `load_settings`, passed down by the composition root."""

    model_config = SettingsConfigDict(
        env_prefix="TOLLGATE_",
        env_nested_delimiter="__",
        # That of the data folder is read instead; see `settings_customise_sources`.
        env_file=os.devnull,
        env_file_encoding="utf-8",
        yaml_file_encoding="utf-8",
        extra="ignore",
        populate_by_name=True,
    )

    # Service
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(
        default=8420, ge=0, le=65535, description="Port to listen on; 0 picks a free port."
    )
    root_path: RootPath = ""
    public_url: PublicUrl = None
    data_dir: DataFolder = Field(
        default_factory=data_home,
        description="Folder for the database, workspace, artifacts and operation logs.",
    )
    workspace: Path | None = Field(
        default=None,
        description="Root folder of the default project; `<data_dir>/workspace` when unset.",
    )
    rules_file: Path | None = Field(
        default=None, description="YAML file of rules that is read at startup; see docs/rules.md."
    )
    plugin_dir: Path | None = Field(
        default=None, description="Folder of plugin tools; `<data_dir>/plugins` when unset."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Minimum severity of log messages."
    )
    log_format: Literal["console", "json"] = Field(
        default="console", description="Log format: text lines, or one JSON object per line."
    )

    # Who may talk to it
    token: SecretStr | None = Field(
        default=None,
        description="Bearer token with every scope; create more with `tollgate token`.",
    )
    allow_anonymous: bool = Field(
        default=False,
        description="Treat every user of this machine as an administrator, without a token.",
    )
    login_lifetime_s: float = Field(
        default=7 * 24 * 3600,
        gt=0,
        description="Maximum duration of a browser sign-in, in seconds.",
    )
    login_idle_s: float = Field(
        default=12 * 3600,
        gt=0,
        description="Seconds of inactivity after which a browser sign-in expires.",
    )
    login_attempts: int = Field(
        default=10, ge=1, description="Maximum failed sign-ins per minute and address."
    )
    secure_cookie: bool = Field(
        default=False,
        description="Send the sign-in cookie over HTTPS only; use it behind a proxy that "
        "terminates HTTPS.",
    )
    allowed_origins: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        description="Additional browser origins to accept, comma-separated.",
    )
    allowed_hosts: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        description="Additional host names to accept in requests besides loopback, "
        "comma-separated.",
    )

    # Tool calls
    tool_max_workers: int = Field(
        default=4, ge=1, le=6, description="Maximum number of concurrent calls in one batch."
    )
    tool_timeout_s: float = Field(
        default=120, gt=0, description="Default timeout of a tool call in seconds."
    )
    tool_output_chars: int = Field(
        default=40_000,
        ge=1000,
        description="Maximum characters of a call's result; the rest is stored as an artifact.",
    )
    turn_output_chars: int = Field(
        default=200_000, ge=1000, description="Maximum characters of all results in one model turn."
    )
    max_visible_tools: int = Field(
        default=40,
        ge=1,
        le=1000,
        description="Maximum number of tools listed to a model; it finds the others with "
        "`search_tools`.",
    )
    enable_cache: bool = Field(default=True, description="Reuse results of identical read calls.")
    cache_ttl_s: float = Field(
        default=300, ge=0, description="Seconds a cached result stays valid."
    )
    loop_warn_after: int = Field(
        default=3,
        ge=1,
        description="Number of identical calls with identical results before the model is warned.",
    )
    loop_refuse_after: int = Field(
        default=6,
        ge=2,
        description="Number of identical calls with identical results before the next is refused.",
    )
    calculator_functions: bool = Field(
        default=False,
        description="Enable functions such as sqrt, sin and log, and the constants pi and e, in "
        "`calculator`.",
    )
    confirm_dangerous: bool = Field(
        default=True,
        description="Enable the built-in hook that requires approval of dangerous operations.",
    )
    confirmation_ttl_s: float = Field(
        default=600, ge=0, description="Seconds until a confirmation expires; 0 means never."
    )
    question_ttl_s: float = Field(
        default=600,
        ge=0,
        description="Seconds until a tool's question, or a ticket that a call waits for, expires; "
        "0 means no limit besides the call's own timeout.",
    )
    max_pending_confirmations: int = Field(
        default=50, ge=1, description="Maximum number of open confirmations per session."
    )
    grant_session_ttl_s: float = Field(
        default=8 * 3600,
        ge=0,
        description="Lifetime of a session approval in seconds; 0 lasts until the session ends.",
    )
    grant_agent_ttl_s: float = Field(
        default=7 * 86_400,
        ge=0,
        description="Lifetime of an agent approval in seconds; 0 means no expiry.",
    )
    grant_always_ttl_s: float = Field(
        default=30 * 86_400,
        ge=0,
        description="Lifetime of a global approval in seconds; 0 means no expiry.",
    )
    allow_permanent: bool = Field(
        default=True,
        description="Allow approvals for an agent or for all agents, and honour existing ones.",
    )
    unattended: Literal["deny", "suspend"] = Field(
        default="deny",
        description="Handling of calls that need approval while no client can answer: deny them, "
        "or suspend them until a person answers.",
    )

    # Hooks and limits
    hooks: Annotated[
        list[HookSettings],
        NoDecode,
        # `docs/hooks.md` tells the fields; the page of all settings does not.
        WithJsonSchema({"type": "array", "items": {"type": "object"}}),
    ] = Field(
        default_factory=list,
        description="External programs called as hooks, as a JSON list; easier to write in "
        "`config.yml`.",
    )
    broken_hook_plugins: Literal["deny", "report"] = Field(
        default="deny",
        description="Handling of a hook plugin that fails to load: deny every call, or only "
        "report it.",
    )
    proposals: ProposalSettings = Field(default_factory=ProposalSettings)
    limits: LimitSettings = Field(default_factory=LimitSettings)
    model_prices: Annotated[dict[str, ModelPrice], NoDecode] = Field(
        default_factory=dict,
        description="Prices in US dollars per million tokens by model, as a JSON object: `input`, "
        "`output`, `cache_read`, `cache_creation`.",
    )

    # Audit and secrets
    audit_detail: Literal["none", "shape", "redacted", "full"] = Field(
        default="redacted",
        description="Detail of arguments in the audit log: `none`; `shape` for keys, types and "
        "lengths; `redacted` for values with secrets masked; `full` for all values "
        "except the service's own secrets.",
    )
    audit_retention_days: int = Field(
        default=365,
        ge=0,
        le=36_500,
        description="Days to keep audit log entries; 0 keeps them forever.",
    )
    redact_patterns: Annotated[list[str], NoDecode, BeforeValidator(lines_or_json)] = Field(
        default_factory=list,
        description="Regular expressions (RE2) for additional secrets to mask, one per line or as "
        "a JSON list.",
    )

    # WebSocket and events
    heartbeat_s: float = Field(
        default=25, gt=0, description="Seconds between heartbeats on a connection."
    )
    event_buffer_size: int = Field(
        default=2000, ge=10, description="Number of recent events kept in memory."
    )
    replay_limit: int = Field(
        default=1000, ge=1, description="Maximum events replayed by one resume."
    )
    outbox_frames: int = Field(
        default=1000, ge=10, description="Maximum number of queued messages for a slow client."
    )
    outbox_bytes: int = Field(
        default=4 << 20,
        ge=1 << 16,
        description="Maximum size of queued messages for a slow client, in bytes.",
    )
    max_frame_bytes: int = Field(
        default=1 << 20, ge=1 << 10, description="Largest message a client may send, in bytes."
    )
    max_upload_bytes: int = Field(
        default=32 << 20,
        ge=0,
        le=64 << 20,
        description="Maximum size of an uploaded file in bytes; 0 disables uploads.",
    )
    command_rate: float = Field(
        default=20, gt=0, description="Sustained rate of commands per second and connection."
    )
    command_burst: int = Field(
        default=60, ge=1, description="Maximum burst of commands per connection."
    )
    max_subscriptions: int = Field(
        default=64, ge=1, description="Maximum sessions that one connection can subscribe to."
    )
    max_connections: int = Field(default=20, ge=1, description="Maximum connections per user.")
    send_timeout_s: float = Field(
        default=10, gt=0, description="Seconds a client may take to accept a message."
    )
    hello_timeout_s: float = Field(
        default=10,
        gt=0,
        description="Seconds within which the first message of a connection must arrive.",
    )

    serving: ServingSettings = Field(default_factory=ServingSettings)
    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    code_execution: CodeExecutionSettings = Field(default_factory=CodeExecutionSettings)
    language_servers: LanguageServersSettings = Field(default_factory=LanguageServersSettings)
    screens: ScreenSettings = Field(default_factory=ScreenSettings)
    skills: SkillSettings = Field(default_factory=SkillSettings)
    memory: MemorySettings = Field(default_factory=MemorySettings)
    images: ImageSettings = Field(default_factory=ImageSettings)
    sources: SourceSettings = Field(default_factory=SourceSettings)
    schedules: ScheduleSettings = Field(default_factory=ScheduleSettings)
    web: WebSettings = Field(default_factory=WebSettings)
    weather: WeatherSettings = Field(default_factory=WeatherSettings)
    triggers: TriggerSettings = Field(default_factory=TriggerSettings)
    channels: ChannelSettings = Field(default_factory=ChannelSettings)
    notifications: NotificationSettings = Field(default_factory=NotificationSettings)
    push: PushSettings = Field(default_factory=PushSettings)
    sub_agent: SubAgentSettings = Field(default_factory=SubAgentSettings)
    escalation: EscalationSettings = Field(default_factory=EscalationSettings)
    progress: ProgressSettings = Field(default_factory=ProgressSettings)

    _origins: dict[SettingPath, Origin] = PrivateAttr(default_factory=dict)
    _files: tuple[Path, ...] = PrivateAttr(default=())

    def origin(self, path: SettingPath) -> Origin:
        """Return where `load_settings` found the value of a setting."""
        return self._origins.get(path, "default")

    @property
    def files(self) -> tuple[Path, ...]:
        return self._files

    @property
    def database_path(self) -> Path:
        return self.data_dir / DATABASE

    @property
    def workspace_dir(self) -> Path:
        return self.workspace or self.data_dir / "workspace"

    @property
    def plugins_dir(self) -> Path:
        return self.plugin_dir or self.data_dir / "plugins"

    @property
    def hooks_dir(self) -> Path:
        """Folder in which command hooks start, and to which their commands are relative."""
        return self.data_dir / "hooks"

    @property
    def is_loopback(self) -> bool:
        return self.host in ("127.0.0.1", "::1", "localhost")

    @property
    def client_url(self) -> str:
        """URL for clients on this machine."""
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
        environment = Environment(settings_cls)
        folder = named_folder(init_settings, environment)
        env_file = EnvFile(settings_cls, folder if dotenv_settings.env_file else None)  # type: ignore[attr-defined]
        config_file = ConfigFile(settings_cls, folder)
        return init_settings, environment, env_file, file_secret_settings, config_file

    @field_validator("hooks", "model_prices", mode="before")
    @classmethod
    def _read_json(cls, value: Any, info: ValidationInfo) -> Any:
        """One environment variable holds it as JSON text; an empty one holds nothing."""
        if not isinstance(value, str):
            return value
        if not value.strip():
            return [] if info.field_name == "hooks" else {}
        try:
            return json.loads(value)
        except ValueError as error:
            raise ValueError(f"must be JSON text: {error}") from None

    @field_validator("hooks")
    @classmethod
    def _named_once(cls, value: list[HookSettings]) -> list[HookSettings]:
        names = [(hook.name, hook.event) for hook in value]
        twice = sorted({name for name, event in names if names.count((name, event)) > 1})
        if twice:
            raise ValueError(f"duplicate hook names for one event: {', '.join(twice)}")
        return value

    @field_validator("redact_patterns")
    @classmethod
    def _can_be_found(cls, value: list[str]) -> list[str]:
        for pattern in value:
            compile_pattern(pattern)
        return value

    @field_validator("allowed_origins", "allowed_hosts", mode="before")
    @classmethod
    def _split_list(cls, value: Any) -> Any:
        return split_words(value)


def load_settings(**overrides: Any) -> Settings:
    """Read the settings.

    Raises:
        ConfigurationError: a value does not fit; the message names the setting and the fix.
    """
    overrides = with_new_names(overrides)
    try:
        folder = named_folder(InitSettingsSource(Settings, overrides), Environment(Settings))
        settings = Settings(**overrides)
        origins = origins_of(Settings, overrides, folder)
    except (ValidationError, SettingsError) as error:
        raise refusal_of(Settings, error) from None
    require_folder(settings.data_dir, origins, folder)
    start_where_the_file_is(settings, origins, folder.absolute())
    settings._origins = origins
    settings._files = files_in(folder)
    return settings
