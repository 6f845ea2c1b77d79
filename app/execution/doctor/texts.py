"""English texts of all findings of the doctor, by code.

Other languages have their own tables under the same codes; a test compares the browser interface's
table with this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from app.operations.protocols.sandbox import LACKS


class CheckSubject(NamedTuple):
    """Checked part, with its purpose and its fix."""

    name: str
    meaning: str = ""
    fix: str = ""


# Values of `LevelStatus.code`; its `sentence` is the English text.
LEVEL_CODES = (
    "confined",
    "pure",
    "filter_only",
    "unconfined",
    "failed",
    "no_filter",
    *(f"{mode}.{lack}" for mode in ("off", "asks") for lack in LACKS),
)

_RUNS = "called before calls run"
_SHUT = "EVERY CALL IS DENIED until this plugin is fixed or removed"
_REPORTED = "its hooks are not active, but calls continue (broken_hook_plugins=report)"
_SCHEMA = "schema of the database"
_LET_IN = "authenticates requests"
_MAKE_ONE = "run `tollgate token create NAME`, or set TOLLGATE_TOKEN"
_LISTENS = "listening address of the service"
_OPEN = "without a token, every user of this machine is an administrator"
_IMAGES = "generates images for text_to_image and image_to_image"
_SEARCH = "answers web_search"
_SEALS = "encrypts the passwords of data sources, which are lost without it"
_SANDBOX = (
    "see docs/sandbox.md; with TOLLGATE_SANDBOX__WEAKER=ask, it runs if a person approves each call"
)

_NO_WORK = "new work is refused until this is fixed, see also `/api/v1/ready`"

SUBJECTS: Mapping[str, CheckSubject] = MappingProxyType(
    {
        "python": CheckSubject("python", "runs the service", "install Python 3.11 or newer"),
        "sqlite": CheckSubject(
            "sqlite",
            "stores sessions, events and governance",
            "use a Python built with SQLite 3.37 or newer",
        ),
        "package": CheckSubject(
            "package {package}", "required: {least} or newer", "run `make setup` again"
        ),
        "data_dir": CheckSubject(
            "data directory",
            "stores the database, artifacts and the default workspace",
            "make it writable, or set TOLLGATE_DATA_DIR",
        ),
        "disk": CheckSubject(
            "disk space",
            "without disk space, nothing can be recorded and tools with side effects are refused",
            "free some space",
        ),
        "database": CheckSubject("database", _SCHEMA),
        "database.broken": CheckSubject("database", _SCHEMA, "restore it from a backup"),
        "database.none": CheckSubject("database", _SCHEMA, "`serve` and `init` create it"),
        "database.newer": CheckSubject(
            "database", _SCHEMA, "start the version of Tollgate that wrote it, or restore a backup"
        ),
        "setting.misspelt": CheckSubject(
            "setting {name}", "it has no effect, and `serve` does not start", "rename it to {meant}"
        ),
        "setting.unknown": CheckSubject(
            "setting {name}", "it has no effect, and `serve` does not start", "remove it"
        ),
        "setting.foreign": CheckSubject(
            "variable {name}", "it has no effect", "remove it, unless another program uses it"
        ),
        "rules_file": CheckSubject(
            "rules file",
            "rules read at startup; without the file, the service does not start",
            "create the file, or set TOLLGATE_RULES_FILE to its path",
        ),
        "database.old": CheckSubject(
            "database", _SCHEMA, "run `tollgate db upgrade`, or start the service"
        ),
        "model_key": CheckSubject(
            "model key", "needed to chat with a model; tools work without it", "set {setting}"
        ),
        "stronger_model": CheckSubject(
            "stronger model",
            "runs cannot be escalated to it",
            "set its provider's key, or unset TOLLGATE_ESCALATION__STRONGER_MODEL",
        ),
        "memory": CheckSubject(
            "memory",
            "stores memory instead of the service's database",
            "start it, or correct TOLLGATE_MEMORY__POSTGRES",
        ),
        "embeddings": CheckSubject(
            "search memories by meaning",
            "finds memories by meaning; without it, search matches words only",
            "start it, or correct the settings TOLLGATE_MEMORY__EMBEDDINGS_*",
        ),
        "address": CheckSubject(
            "address",
            _LISTENS,
            "stop the program that uses this address, or choose another with "
            "TOLLGATE_HOST and TOLLGATE_PORT",
        ),
        "tls": CheckSubject(
            "TLS",
            "the service has no TLS of its own, so others on the network could read "
            "tokens and results",
            "use a reverse proxy with TLS, and set TOLLGATE_SECURE_COOKIE=true",
        ),
        "tokens": CheckSubject("tokens", _LET_IN),
        "tokens.first": CheckSubject(
            "tokens",
            _LET_IN,
            "run `tollgate token revoke bootstrap` once the first token is no longer used",
        ),
        "tokens.none": CheckSubject("tokens", _LET_IN, _MAKE_ONE),
        "open_house": CheckSubject(
            "anonymous access",
            _OPEN,
            "unset TOLLGATE_ALLOW_ANONYMOUS; `serve` then creates a token",
        ),
        "open_house.idle": CheckSubject("anonymous access", _OPEN),
        "plugins": CheckSubject("plugins", "tools and hooks of this installation"),
        "plugin": CheckSubject(
            "plugin {plugin}", "it is not loaded; everything else works", "{mend}"
        ),
        "notification_channel": CheckSubject(
            "notification channel {channel}",
            "people are not notified of pending requests through it",
            "correct it, then test it with `POST /api/v1/admin/notification-channels/ID/test`",
        ),
        "loop": CheckSubject(
            "event loop",
            "while a plugin blocks it, no request is answered",
            "use await in {culprit}, or do its work in a thread (asyncio.to_thread)",
        ),
        "hook": CheckSubject("hook {hook}", _RUNS),
        "hook.missing": CheckSubject(
            "hook {hook}",
            f"{_RUNS}; a missing gate denies the calls it matches",
            "install it, or put it into {folder}",
        ),
        "hook.exposed": CheckSubject(
            "hook {hook}",
            "agents could change the program that monitors them",
            "move it to {folder}",
        ),
        "hook.unmatched": CheckSubject(
            "hook {hook}", _RUNS, "`tollgate tools` lists the tool names"
        ),
        "hook_folder": CheckSubject(
            "hook folder",
            "agents could change the programs that monitor them",
            "choose a workspace outside the data directory",
        ),
        "hook_plugin.shut": CheckSubject("hook plugin {plugin}", _SHUT, "fix or remove {file}"),
        "hook_plugin.reported": CheckSubject(
            "hook plugin {plugin}", _REPORTED, "fix or remove {file}"
        ),
        "cost_limit": CheckSubject(
            "cost limit",
            "its cost cannot be measured, so chat with this model is refused",
            "add its price, or unset limits.cost_per_session",
        ),
        "sandbox.bash": CheckSubject("sandbox bash", "programs started by tools", _SANDBOX),
        "sandbox.lenient": CheckSubject(
            "sandbox lenient", "execute_python without restrictions", _SANDBOX
        ),
        "sandbox.standard": CheckSubject("sandbox standard", "execute_python by default", _SANDBOX),
        "sandbox.strict": CheckSubject(
            "sandbox strict", "execute_python for computation only", _SANDBOX
        ),
        "layer.landlock-fs": CheckSubject("layer landlock-fs", "restricts file access of programs"),
        "layer.landlock-net": CheckSubject(
            "layer landlock-net", "restricts network connections of programs"
        ),
        "layer.landlock-scope": CheckSubject(
            "layer landlock-scope", "restricts signals and abstract sockets of programs"
        ),
        "layer.seccomp": CheckSubject("layer seccomp", "restricts system calls of programs"),
        "layer.namespaces": CheckSubject(
            "layer namespaces", "isolate a program, and ensure that it is stopped"
        ),
        "network_by_host": CheckSubject(
            "network by host",
            "commands reach the hosts that their project allows",
            "allow user namespaces on this machine; see docs/sandbox.md",
        ),
        "layer.metadata-guard": CheckSubject(
            "layer metadata-guard",
            "protects modes and times of files outside; only needed without namespaces",
        ),
        "layer.uid-drop": CheckSubject(
            "layer uid-drop", "runs programs as another user; only if the service runs as root"
        ),
        "landlock": CheckSubject("Landlock", "version supported by the kernel"),
        "openat2": CheckSubject(
            "openat2",
            "keeps file tools inside the workspace; without it, every path is checked step by step",
            "Linux 5.6 or newer, not blocked by a container's seccomp filter",
        ),
        "program.bash": CheckSubject(
            "program bash", "runs the commands of the bash tool", "install bash"
        ),
        "program.rg": CheckSubject(
            "program rg",
            "only used for comparison in benchmarks; grep works without it",
            "install ripgrep",
        ),
        "program.git": CheckSubject("program git", "often used by agents' commands", "install git"),
        "program.node": CheckSubject(
            "program node",
            "only used to check the protocol documents",
            "install Node.js 22 or newer",
        ),
        "fts5": CheckSubject(
            "SQLite FTS5", "searches memories", "use a Python whose SQLite is built with FTS5"
        ),
        "images": CheckSubject("image provider", _IMAGES),
        "images.none": CheckSubject(
            "image provider",
            _IMAGES,
            "set TOLLGATE_IMAGES__PROVIDER to openai, with TOLLGATE_IMAGES__API_KEY, "
            "or to draw for testing",
        ),
        "images.keyless": CheckSubject(
            "image provider",
            _IMAGES,
            "set TOLLGATE_IMAGES__API_KEY, unless the server needs no key",
        ),
        "search": CheckSubject("search engine", _SEARCH),
        "search.none": CheckSubject(
            "search engine",
            _SEARCH,
            "set TOLLGATE_WEB__SEARCH_PROVIDER=auto; to use a provider other than "
            "DuckDuckGo, set TOLLGATE_WEB__SEARXNG_URL, TOLLGATE_WEB__BRAVE_API_KEY "
            "or TOLLGATE_WEB__TAVILY_API_KEY",
        ),
        "search.absent": CheckSubject(
            "search engine",
            _SEARCH,
            "install the package ddgs, or choose another TOLLGATE_WEB__SEARCH_PROVIDER",
        ),
        "weather": CheckSubject(
            "weather",
            "answers get_weather",
            "set TOLLGATE_WEATHER__PROVIDER=open-meteo for real weather",
        ),
        "source_keys": CheckSubject("key of data sources", _SEALS),
        "source_keys.broken": CheckSubject(
            "key of data sources", _SEALS, "create one with `openssl rand -base64 32`"
        ),
        "source_keys.unreadable": CheckSubject("key of data sources", _SEALS, "make it readable"),
        "source_keys.exposed": CheckSubject(
            "key of data sources",
            _SEALS,
            "chmod 600 {path}, then POST /api/v1/admin/data-sources/keys/rotate",
        ),
        "sqlite_folder": CheckSubject(
            "SQLite folder",
            "its files can be data sources",
            "create it, or change TOLLGATE_SOURCES__SQLITE_FOLDERS",
        ),
        "condition": CheckSubject("running service", "accepts new work"),
        "condition.database_lost": CheckSubject(
            "running service",
            "reading and writing have stopped, to prevent data loss",
            "stop it, restore the correct database, and start it again",
        ),
        "condition.database_failing": CheckSubject(
            "running service",
            _NO_WORK,
            "free some space, or stop the process that locks the database",
        ),
        "condition.disk_low": CheckSubject(
            "running service",
            _NO_WORK,
            "free some space, or lower TOLLGATE_SERVING__DISK_RESERVE_MB",
        ),
        "condition.disk_silent": CheckSubject(
            "running service",
            _NO_WORK,
            "check the disk or network drive of the data directory",
        ),
        "condition.data_dir_gone": CheckSubject(
            "running service", _NO_WORK, "mount or create the data directory again"
        ),
        "condition.data_dir_read_only": CheckSubject(
            "running service", _NO_WORK, "mount the disk of the data directory read-write"
        ),
        "condition.files_low": CheckSubject(
            "running service", _NO_WORK, "raise `ulimit -n`, or LimitNOFILE of the unit"
        ),
        "condition.memory_low": CheckSubject(
            "running service",
            _NO_WORK,
            "raise the memory limit of the container, of the unit or of `ulimit -v`",
        ),
        "condition.processes_low": CheckSubject(
            "running service", _NO_WORK, "raise the process limit of the container or the unit"
        ),
        "condition.journal_large": CheckSubject(
            "running service",
            "the journal of the database grows while a reader is open",
            "stop the program that has the database open",
        ),
        "condition.clock_set": CheckSubject(
            "running service",
            "expiry may be too early or too late",
            "check the machine's time service",
        ),
        "open_files": CheckSubject(
            "limit of open files",
            "each connection needs one, each running command needs five",
            "raise `ulimit -n`, or LimitNOFILE of the unit",
        ),
        "condition.reported": CheckSubject("running service", _NO_WORK, "see docs/operations.md"),
        "tools": CheckSubject("tools", "enabled tools"),
        "tool": CheckSubject("tool {tool}", "{message}", "{fix}"),
    }
)

FOUND: Mapping[str, str] = MappingProxyType(
    {
        "version": "{version}",
        "path": "{path}",
        "error": "{error}",
        "missing": "missing",
        "not_found": "not found",
        "not_available": "not available",
        "available": "available",
        "used": "used",
        "available_used": "available, used",
        "not_needed": "not needed here",
        "notification_channel.failing": "failing since {since}: {error}",
        "set": "set",
        "not_set": "not set",
        "none": "none",
        "off": "off",
        "provider": "{provider}",
        "free_space": "{mib} MiB free",
        "database.none": "none yet",
        "database.current": "revision {revision}",
        "database.old": "revision {revision}, this version needs {needed}",
        "database.newer": "revision {revision}, this version knows up to {needed}",
        "setting.unknown": "unknown name in {source}",
        "address.free": "{address} is free",
        "address.ours": "a Tollgate service is listening on {address}",
        "address.taken": "{address}: {error}",
        "tls.clear": "{host} is served without TLS",
        "tokens.setting": "TOLLGATE_TOKEN is set",
        "tokens.stored": "{tokens}",
        "tokens.both": "TOLLGATE_TOKEN is set; {tokens}",
        "tokens.expired": "all have expired",
        "tokens.none": "none: `serve` will not start",
        "tokens.first": "none yet: `serve` creates the first one",
        "open_house.idle": "set, but has no effect",
        "open_house.open": "open to every user and program here",
        "embeddings.answers": "{model} returns {numbers} dimensions",
        "embeddings.unusable": "{model} is unusable: {error}",
        "memory.answers": "PostgreSQL answers",
        "memory.unusable": "PostgreSQL is unusable: {error}",
        "stronger_model.keyless": "{model} has no key",
        "plugin.left_out": "{at}: {error}",
        "loop.blocked": "{culprit} blocked it for {seconds} s at {at}",
        "loop.stopped": "{culprit} blocked it for {seconds} s at {at} and was stopped",
        "hook.works": "{event}, {origin}",
        "hook.missing": "program not found: {program}",
        "hook.exposed": "{path} is in the workspace",
        "hook.unmatched": "matches no tool: {matcher}",
        "cost_limit.no_price": "model_prices has no price for {model}",
        **{f"sandbox.{code}": "{sentence}" for code in LEVEL_CODES},
        "sandbox.lacks": "layers missing on this machine: {layers}",
        "landlock.version": "ABI {abi}",
        "network.by_host": "through the egress proxy",
        "network.lacks_namespaces": "off: allowed_hosts of projects need namespaces",
        "images.draw": "draw: simulated, shapes only",
        "images.keyless": "openai, {url}, no key",
        "images.keyed": "openai, {url}, key set",
        "search.absent": "ddgs is not installed",
        "weather.simulated": "{provider}: all values are made up",
        "source_keys.none": "none yet: it is created with the first password",
        "source_keys.setting": "TOLLGATE_SOURCES__KEYS is set",
        "source_keys.unreadable": "{path}: {error}",
        "source_keys.exposed": "others can read {path} (mode {mode}), so it is not used",
        "sqlite_folder.none": "{path} is not a folder",
        "condition.none": "accepts new work",
        "condition.database_lost": "{error}",
        "condition.database_failing": "{error}",
        "condition.disk_low": "{mib} MiB free in the data directory",
        "condition.disk_silent": "the data directory does not respond",
        "condition.data_dir_gone": "the data directory is not accessible: {error}",
        "condition.data_dir_read_only": "the data directory is read-only",
        "condition.files_low": "{used} of {limit} files are open",
        "condition.memory_low": "{used} of {limit} MiB of memory are used",
        "condition.processes_low": "{used} of {limit} processes are running",
        "condition.journal_large": "the journal has grown to {mib} MiB",
        "condition.clock_set": "the machine's clock was changed",
        "condition.reported": "{error}",
        "open_files.limit": "{limit}",
    }
)
