"""Tree of all errors.

    TollgateError
    ├── InvalidInput                 the caller must change what it sent
    │   ├── InvalidArguments         a tool's arguments do not fit its model
    │   ├── BadFrame                 not a JSON object of the protocol
    │   ├── UnknownMessageType
    │   ├── TooLarge
    │   │   └── HeadersTooLarge
    │   └── IdempotencyKeyReused     the key was used for another request
    ├── Unauthenticated
    ├── Forbidden
    ├── NotFound
    │   └── ToolNotFound
    ├── Conflict
    │   ├── Busy                     another run is active in the session
    │   ├── AlreadyFinished
    │   ├── ConfirmationAlreadyResolved
    │   ├── AlreadyApproved
    │   ├── ConfirmationExpired
    │   ├── DigestMismatch
    │   ├── QuestionAlreadyAnswered
    │   ├── QuestionClosed           it has ended, and no agent can be notified
    │   ├── AlreadyExists
    │   ├── ProofOutdated            the proof of a proposed rule does not hold any more
    │   ├── RequestInFlight          the first request with that key is still running
    │   ├── OutcomeUnknown           the service ended during the first request with that key
    │   ├── AnswerNotKept            it was processed; its response contained a secret
    │   └── VersionMismatch          another client changed it first
    ├── RateLimited
    ├── UpgradeRequired              a WebSocket that arrived as an ordinary request
    ├── RequestTimeout               the client did not send its request in time
    ├── Overloaded                   the service is at a limit of its machine
    ├── BudgetExceeded               the session has used up its limit of tokens or cost
    ├── UnrecoverablePosition        the log no longer contains the position to resume from
    ├── ToolFailed                   the tool ran and failed: change the call, do not repeat it
    │   ├── OutsideWorkspace
    │   └── ProjectRequired
    ├── ModelFailed                  the model provider refused, failed or disconnected
    ├── ContextFull                  the conversation exceeds the model's context
    ├── StorageUnavailable           database locked, disk full, or writer stopped
    └── ConfigurationError           the operator must change a setting

Clients match on `code`, which never changes meaning. REST responds with `http_status`. `retryable`
is true if the same request may succeed later.
"""

from __future__ import annotations

from typing import Any, ClassVar


class TollgateError(Exception):
    """Base of all deliberate errors; as itself, an internal error.

    `details` is JSON-serialisable and safe to show to the caller.
    """

    code: ClassVar[str] = "internal"
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.details)


def _rebuild(kind: type[TollgateError], message: str, details: dict[str, Any]) -> TollgateError:
    return kind(message, **details)


class InvalidInput(TollgateError):
    code = "validation_failed"
    http_status = 422


class InvalidArguments(InvalidInput):
    """`details["errors"]` lists every problem as a `FieldProblem`."""

    code = "invalid_arguments"


class BadFrame(InvalidInput):
    code = "bad_frame"
    http_status = 400


class UnknownMessageType(InvalidInput):
    code = "unknown_type"
    http_status = 400


class TooLarge(InvalidInput):
    code = "too_large"
    http_status = 413


class HeadersTooLarge(TooLarge):
    code = "headers_too_large"
    http_status = 431


class IdempotencyKeyReused(InvalidInput):
    code = "idempotency_key_reused"


class Unauthenticated(TollgateError):
    code = "unauthenticated"
    http_status = 401


class Forbidden(TollgateError):
    code = "forbidden"
    http_status = 403


class NotFound(TollgateError):
    code = "not_found"
    http_status = 404


class ToolNotFound(NotFound):
    code = "tool_not_found"


class Conflict(TollgateError):
    code = "conflict"
    http_status = 409


class Busy(Conflict):
    code = "busy"
    retryable = True


class AlreadyFinished(Conflict):
    code = "already_finished"


class ConfirmationAlreadyResolved(Conflict):
    code = "confirmation_already_resolved"


class AlreadyApproved(Conflict):
    """The same person has approved before, and a policy requires different people."""

    code = "already_approved"


class ConfirmationExpired(Conflict):
    code = "confirmation_expired"


class DigestMismatch(Conflict):
    code = "digest_mismatch"


class QuestionAlreadyAnswered(Conflict):
    """Another user answered the question first."""

    code = "question_already_answered"


class QuestionClosed(Conflict):
    """The question has ended, and no agent can be notified of an answer."""

    code = "question_closed"


class ProofOutdated(Conflict):
    """`details["problems"]` says what speaks against the rule."""

    code = "proof_outdated"


class AlreadyExists(Conflict):
    code = "already_exists"


class RequestInFlight(Conflict):
    """`details["retry_after_ms"]` is the time to wait."""

    code = "request_in_flight"
    retryable = True


class OutcomeUnknown(Conflict):
    code = "outcome_unknown"


class AnswerNotKept(Conflict):
    code = "answer_not_kept"


class VersionMismatch(Conflict):
    """`details["version"]` is the current version."""

    code = "version_mismatch"
    http_status = 412


class RateLimited(TollgateError):
    """`details["retry_after_ms"]` is the time to wait."""

    code = "rate_limited"
    http_status = 429
    retryable = True


class UpgradeRequired(TollgateError):
    code = "upgrade_required"
    http_status = 426


class RequestTimeout(TollgateError):
    code = "request_timeout"
    http_status = 408
    retryable = True


class Overloaded(TollgateError):
    """`details["retry_after_ms"]` is the time to wait."""

    code = "overloaded"
    http_status = 503
    retryable = True


class BudgetExceeded(TollgateError):
    """`details` has `budget` (`token_budget` or `cost_budget`), `limit` and `used`."""

    code = "budget_exceeded"
    http_status = 429


class UnrecoverablePosition(TollgateError):
    code = "unrecoverable_position"
    http_status = 410


class ToolFailed(TollgateError):
    """Raised by tools: the call failed, and the model should change it."""

    code = "tool_failed"
    http_status = 422


class OutsideWorkspace(ToolFailed):
    code = "outside_workspace"

    def __init__(self, path: str, roots: tuple[str, ...] = ()) -> None:
        if roots:
            allowed = ", ".join(repr(root) for root in roots)
            super().__init__(
                f"Path is outside the allowed folders: {path!r}; allowed are {allowed}",
                path=path,
                roots=list(roots),
            )
        else:
            super().__init__(f"Path is outside project directory: {path!r}", path=path)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.details["path"], tuple(self.details.get("roots", ())))


class ProjectRequired(ToolFailed):
    code = "project_required"

    def __init__(self, purpose: str = "file operations") -> None:
        super().__init__(f"project_id is required for {purpose}", purpose=purpose)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.details["purpose"],)


class ModelFailed(TollgateError):
    """`details` has `provider_code` and `status` if the provider sent them."""

    code = "model_failed"
    http_status = 502


class ContextFull(TollgateError):
    """`details` has `needed` and `limit`, in tokens."""

    code = "context_full"
    http_status = 422


class StorageUnavailable(TollgateError):
    code = "storage_unavailable"
    http_status = 503
    retryable = True


class ConfigurationError(TollgateError):
    code = "configuration"
    http_status = 500
