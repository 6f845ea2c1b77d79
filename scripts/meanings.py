"""Texts of the generated pages that are not in the code."""

from __future__ import annotations

SETTING_GROUPS = {
    "host": "Service",
    "token": "Authentication",
    "model_provider": "Models",
    "tool_max_workers": "Tool calls",
    "hooks": "Hooks and limits",
    "heartbeat_s": "WebSocket and events",
    "serving": "Connections",
    "sandbox": "Sandbox",
    "code_execution": "Python execution",
    "language_servers": "Developer tools",
    "skills": "Skills",
    "memory": "Memory",
    "weather": "Weather",
    "web": "Web search and fetching",
    "images": "Image generation",
    "sources": "Data sources",
    "schedules": "Schedules",
    "triggers": "Triggers and webhooks",
    "channels": "Channels",
    "notifications": "Notifications",
    "push": "Web Push",
    "sub_agent": "Sub-agents",
    "progress": "Tool progress",
}
MEANINGS = {
    "answer_not_kept": "The request was executed earlier; its response contained a secret and was"
    " not stored.",
    "already_approved": "You have approved this call before, and other people must approve it too.",
    "already_exists": "The name or id is already in use.",
    "already_finished": "The item to stop or answer has already ended.",
    "bad_frame": "The message or body is not valid JSON of the expected form.",
    "budget_exceeded": "The session has used up its limit of tokens or cost; no model request is"
    " sent.",
    "busy": "Another run is active in the session.",
    "configuration": "An operator must change a setting; the message names it.",
    "confirmation_already_resolved": "The confirmation has already been answered.",
    "confirmation_expired": "The answer came after the time limit.",
    "conflict": "The request conflicts with the current state.",
    "context_full": "The conversation does not fit into `context_tokens`.",
    "digest_mismatch": "The answer is for another call than the pending one.",
    "duplicate_tool": "Another tool or alias has that name, or one that differs only in case.",
    "forbidden": "The token does not allow this.",
    "headers_too_large": "The request headers exceed the limit.",
    "idempotency_key_reused": "The `Idempotency-Key` was used for another request.",
    "internal": "An unexpected error in the service; search its log for `error_id`.",
    "invalid_arguments": "The arguments of the tool are invalid; `errors` lists every problem by"
    " path.",
    "invalid_tool": "A tool's name, schema or definition is invalid.",
    "model_failed": "The model provider refused the request, broke off or could not be reached.",
    "not_found": "The item does not exist, or belongs to another user.",
    "overloaded": "The machine has reached a limit; `retry_after_ms` is the time to wait.",
    "outcome_unknown": "The service stopped during the first request with that key.",
    "outside_workspace": "A path leads out of the workspace.",
    "plugin_empty": "A plugin provides no tools and no hooks.",
    "project_required": "The tool needs a project, and the call has none.",
    "proof_outdated": "The newest calls, answers or rules speak against the proposed rule;"
    " `details.problems` says why.",
    "question_already_answered": "The question has already been answered.",
    "question_closed": "The question is closed, and cannot be answered any more.",
    "rate_limited": "Too many requests; `retry_after_ms` is the time to wait.",
    "request_timeout": "The request did not arrive completely in time.",
    "plugins_refused": "The plugin folder cannot be loaded; the service keeps its current plugins.",
    "request_in_flight": "The first request with that key is still running.",
    "storage_unavailable": "The database cannot be written: the disk is full, or another program"
    " holds a lock.",
    "too_large": "The message or body exceeds the limit.",
    "tool_failed": "The tool ran and failed; change the call instead of repeating it.",
    "tool_not_found": "The tool does not exist; the message suggests similar names.",
    "unauthenticated": "The request has no valid token.",
    "unknown_type": "The message's `type` is not part of the protocol.",
    "unrecoverable_position": "The log no longer contains the position to resume from.",
    "upgrade_required": "The address is a WebSocket endpoint, and the request is not a WebSocket"
    " handshake.",
    "validation_failed": "The request is invalid; `errors` lists every problem by path.",
    "version_mismatch": "The item has changed since; load it again.",
    "worker_protocol": "The process of a sub-agent violated its protocol and was ended.",
}
CONFIGURATION = (
    "This page lists all settings.",
    "The value of a setting comes from the first of these sources that sets it:",
    "",
    "1. a command line option, such as `--port`;",
    "2. an environment variable;",
    "3. the file `.env` in the data folder;",
    "4. the file `config.yml` in the data folder;",
    "5. the default.",
    "",
    "Copy the templates `.env.example` and `config.example.yml` to start.",
    "A relative path in `.env` or `config.yml` is relative to the folder of that file.",
    "Files with these names in the current folder are not read: `tollgate where` lists the"
    " files that are read and ignored, and `tollgate serve` names those that it ignores.",
    "An invalid value stops the service with an error that names the setting.",
    "An unknown name in `config.yml`, `.env` or the environment also stops it; the error"
    " suggests the closest setting.",
    "A variable that starts with `TOLLGATE_` but is not similar to any setting only causes a"
    " warning, and so do the variables that Kubernetes sets for a service called tollgate,"
    " such as `TOLLGATE_PORT=tcp://10.0.0.1:80`.",
    "`tollgate doctor` shows errors and warnings.",
    "Without `TOLLGATE_DATA_DIR`, the data folder is `~/.local/share/tollgate`, or"
    " `$XDG_DATA_HOME/tollgate`; on macOS it is `~/Library/Application Support/tollgate`.",
    "A database of an earlier version in `./data` is used only if you name it, see"
    " [Operations](operations.md#target-installation).",
)
