"""Settings of the model that agents use."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode

from app.config.sections import split_words
from app.core.models import Provider, split_model
from app.core.requests import LEAST_CONTEXT, Effort, PromptPart


class ModelOptions(BaseSettings):
    """Provider, model and the size of a request."""

    model_provider: Provider = Field(
        default="anthropic",
        description="Provider of model names without a provider prefix: `gpt-5` uses this "
        "provider, `openai:gpt-5` always uses openai.",
    )
    anthropic_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("anthropic_api_key", "ANTHROPIC_API_KEY"),
        description="API key of the provider anthropic. Without any provider key, the service "
        "runs tools only.",
    )
    anthropic_base_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("anthropic_base_url", "ANTHROPIC_BASE_URL"),
        description="URL of a server with Anthropic's Messages API.",
    )
    openai_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("openai_api_key", "OPENAI_API_KEY"),
        description="API key of the provider openai; servers without authentication only need the "
        "URL.",
    )
    openai_base_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("openai_base_url", "OPENAI_BASE_URL"),
        description="URL of a server with the chat completions API, including the path: "
        "`https://…/v1`.",
    )
    model: str = Field(default="claude-sonnet-5-5", description="Model of new sessions.")
    model_fallbacks: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        max_length=10,
        description="Models to try in this order if a model is overloaded or unavailable, "
        "comma-separated.",
    )
    max_tokens: int = Field(
        default=8192, ge=1, description="Maximum output tokens per model request."
    )
    temperature: float | None = Field(
        default=None,
        ge=0,
        le=2,
        description="Sampling temperature; the model's default when unset.",
    )
    thinking_budget: int = Field(
        default=0, ge=0, description="Token budget for thinking; 0 disables it."
    )
    adaptive_thinking: bool = Field(
        default=False, description="Let the model decide when and how long it thinks."
    )
    effort: Effort | None = Field(
        default=None, description="Reasoning effort of the model; the model's default when unset."
    )
    context_tokens: int = Field(
        default=150_000,
        ge=LEAST_CONTEXT,
        description="Maximum tokens of one model request; older messages are trimmed and "
        "summarized.",
    )
    prompt_exclude: Annotated[list[PromptPart], NoDecode] = Field(
        default_factory=list,
        description="Prompt parts to leave out, comma-separated: `hints`, `skills`, "
        "`instructions`, `listing`, `memory`, `todo`, `date`.",
    )
    max_iterations: int = Field(
        default=15, ge=1, le=1000, description="Maximum model requests per run."
    )
    durable_runs: Literal["continue", "close"] = Field(
        default="continue",
        description="Handling of runs interrupted by a service stop: continue or close them.",
    )
    model_retries: int = Field(
        default=2,
        ge=0,
        le=10,
        description="Retries of a model request that fails before its response starts.",
    )
    model_timeout_s: float = Field(
        default=600, gt=0, description="Seconds without data after which a model request fails."
    )

    @property
    def model_key_setting(self) -> str:
        """The environment variable of the key that `model` needs."""
        provider, _ = split_model(self.model, self.model_provider)
        return f"{provider.upper()}_API_KEY"

    @property
    def has_model(self) -> bool:
        """Whether `model` can be asked."""
        return self.has_key_for(self.model)

    def has_key_for(self, model: str) -> bool:
        """Whether the provider of a model can be asked."""
        provider, _ = split_model(model, self.model_provider)
        return self.has_openai if provider == "openai" else self.anthropic_api_key is not None

    @property
    def has_openai(self) -> bool:
        """Whether the provider openai can be asked: it has a key, or a server of its own."""
        return self.openai_api_key is not None or self.openai_base_url is not None

    @field_validator("openai_api_key", "openai_base_url", mode="before")
    @classmethod
    def _unset_when_empty(cls, value: Any) -> Any:
        """A variable that a container passes on without a value says nothing."""
        return None if isinstance(value, str) and not value.strip() else value

    @model_validator(mode="after")
    def _model_of_the_provider(self) -> Self:
        if self.model_provider != "anthropic" and "model" not in self.model_fields_set:
            raise ValueError(
                f"model_provider is {self.model_provider}: set model to one of its models"
            )
        return self

    @model_validator(mode="after")
    def _one_way_to_think(self) -> Self:
        if self.adaptive_thinking and self.thinking_budget:
            raise ValueError("thinking_budget and adaptive_thinking cannot be combined")
        return self

    @field_validator("model_fallbacks", "prompt_exclude", mode="before")
    @classmethod
    def _split_names(cls, value: Any) -> Any:
        return split_words(value)
