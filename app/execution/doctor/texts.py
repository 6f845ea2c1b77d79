"""Every finding of the doctor in English, by its code.

A page in another language keeps its own table under the same codes; a test holds the one of
the browser interface against this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from app.operations.protocols.sandbox import LACKS


class CheckSubject(NamedTuple):
    """What is looked at, what it is for, and what would mend or improve it."""

    name: str
    meaning: str = ""
    fix: str = ""


# What `LevelStatus.code` may be; its `sentence` says it in English.
LEVEL_CODES = (
    "confined",
    "pure",
    "filter_only",
    "unconfined",
    "failed",
    "no_filter",
    *(f"{mode}.{lack}" for mode in ("off", "asks") for lack in LACKS),
)

_RUNS = "it is asked before calls are run"
_SHUT = "EVERY CALL IS DENIED until this plugin is mended or removed"
_REPORTED = "its hooks are missing, and calls go on (broken_hook_plugins=report)"
_SCHEMA = "the schema that the database has"
_LET_IN = "what requests are let in with"
_MAKE_ONE = "`tollgate token create NAME`, or set TOLLGATE_TOKEN"
_LISTENS = "where the service listens"
_OPEN = "without any token, whoever reaches this machine's loopback is an administrator"
_IMAGES = "makes images for text_to_image and image_to_image"
_SEARCH = "answers web_search"
_SEALS = "seals the passwords of data sources; without it they are lost"
_SANDBOX = (
    "see docs/sandbox.md; TOLLGATE_SANDBOX__WEAKER=ask lets it run when a person agrees to each"
    " call"
)

_NO_WORK = "no new work is taken while it lasts; `/api/v1/ready` says the same"

SUBJECTS: Mapping[str, CheckSubject] = MappingProxyType(
    {
        "python": CheckSubject("python", "runs the service", "install Python 3.11 or newer"),
        "sqlite": CheckSubject(
            "sqlite",
            "keeps sessions, events and governance",
            "use a Python that is built with SQLite 3.37 or newer",
        ),
        "package": CheckSubject(
            "package {package}", "needed: {least} or newer", "run `make setup` again"
        ),
        "data_dir": CheckSubject(
            "data directory",
            "database, artifacts and the default workspace lie there",
            "make it writable, or set TOLLGATE_DATA_DIR",
        ),
        "disk": CheckSubject(
            "disk space",
            "without space nothing can be recorded, and tools with side effects are refused",
            "free some space",
        ),
        "database": CheckSubject("database", _SCHEMA),
        "database.broken": CheckSubject("database", _SCHEMA, "restore it from a backup"),
        "database.none": CheckSubject("database", _SCHEMA, "`serve` and `init` make it"),
        "database.newer": CheckSubject(
            "database", _SCHEMA, "start the version of Tollgate that wrote it, or restore a backup"
        ),
        "setting.misspelt": CheckSubject(
            "setting {name}", "it has no effect, and `serve` does not start", "write {meant}"
        ),
        "setting.unknown": CheckSubject(
            "setting {name}", "it has no effect, and `serve` does not start", "remove it"
        ),
        "setting.foreign": CheckSubject(
            "variable {name}", "it has no effect", "remove it, unless another program reads it"
        ),
        "rules_file": CheckSubject(
            "rules file",
            "rules that are read at the start; without them the service does not start",
            "put the file there, or set TOLLGATE_RULES_FILE to where it is",
        ),
        "database.old": CheckSubject(
            "database", _SCHEMA, "`tollgate db upgrade`; `serve` does it too"
        ),
        "model_key": CheckSubject(
            "model key", "chat with a model needs it; tools work without", "set {setting}"
        ),
        "stronger_model": CheckSubject(
            "stronger model",
            "nothing can be escalated to it",
            "set its provider's key, or unset TOLLGATE_ESCALATION__STRONGER_MODEL",
        ),
        "memory": CheckSubject(
            "memory",
            "where memory is kept, instead of the service's database",
            "start it, or correct TOLLGATE_MEMORY__POSTGRES",
        ),
        "embeddings": CheckSubject(
            "meaning of memories",
            "memories are found by what they mean too; without it by their words alone",
            "start it, or correct the settings TOLLGATE_MEMORY__EMBEDDINGS_*",
        ),
        "address": CheckSubject(
            "address",
            _LISTENS,
            "stop what listens there, or choose another with TOLLGATE_HOST and TOLLGATE_PORT",
        ),
        "tls": CheckSubject(
            "TLS",
            "the service speaks no TLS itself: tokens and results could be read on the way",
            "put a proxy with TLS in front, and set TOLLGATE_SECURE_COOKIE=true",
        ),
        "tokens": CheckSubject("tokens", _LET_IN),
        "tokens.first": CheckSubject(
            "tokens",
            _LET_IN,
            "`tollgate token revoke bootstrap` when nobody needs the first token any more",
        ),
        "tokens.none": CheckSubject("tokens", _LET_IN, _MAKE_ONE),
        "open_house": CheckSubject(
            "open house", _OPEN, "unset TOLLGATE_OPEN_HOUSE; `serve` then makes a token"
        ),
        "open_house.idle": CheckSubject("open house", _OPEN),
        "plugins": CheckSubject("plugins", "tools and hooks of this installation"),
        "plugin": CheckSubject("plugin {plugin}", "it is left out; everything else runs", "{mend}"),
        "loop": CheckSubject(
            "event loop",
            "while one plugin blocks it, nobody gets an answer",
            "await in {culprit}, or do its work in a thread (asyncio.to_thread)",
        ),
        "hook": CheckSubject("hook {hook}", _RUNS),
        "hook.missing": CheckSubject(
            "hook {hook}",
            f"{_RUNS}; a gate that is missing denies what it matches",
            "install it, or put it into {folder}",
        ),
        "hook.exposed": CheckSubject(
            "hook {hook}",
            "agents could change the program that watches them",
            "move it to {folder}",
        ),
        "hook.unmatched": CheckSubject(
            "hook {hook}", _RUNS, "`tollgate tools` lists the names there are"
        ),
        "hook_folder": CheckSubject(
            "hook folder",
            "agents could change the programs that watch them",
            "choose a workspace that does not hold the data directory",
        ),
        "hook_plugin.shut": CheckSubject("hook plugin {plugin}", _SHUT, "mend or remove {file}"),
        "hook_plugin.reported": CheckSubject(
            "hook plugin {plugin}", _REPORTED, "mend or remove {file}"
        ),
        "cost_limit": CheckSubject(
            "cost limit",
            "what cannot be counted is not asked: chat with this model is refused",
            "add its price, or unset limits.cost_per_session",
        ),
        "sandbox.bash": CheckSubject("sandbox bash", "programs that tools start", _SANDBOX),
        "sandbox.lenient": CheckSubject(
            "sandbox lenient", "execute_python without restrictions", _SANDBOX
        ),
        "sandbox.standard": CheckSubject(
            "sandbox standard", "execute_python as it is by default", _SANDBOX
        ),
        "sandbox.strict": CheckSubject(
            "sandbox strict", "execute_python that only computes", _SANDBOX
        ),
        "layer.landlock-fs": CheckSubject(
            "layer landlock-fs", "limits which files a program reaches"
        ),
        "layer.landlock-net": CheckSubject(
            "layer landlock-net", "limits where a program may connect to"
        ),
        "layer.landlock-scope": CheckSubject(
            "layer landlock-scope", "keeps signals and abstract sockets of a program inside"
        ),
        "layer.seccomp": CheckSubject("layer seccomp", "limits which system calls a program makes"),
        "layer.namespaces": CheckSubject(
            "layer namespaces", "give a program a machine of its own, and end it for certain"
        ),
        "layer.metadata-guard": CheckSubject(
            "layer metadata-guard",
            "keeps modes and times of files outside; needed only without namespaces",
        ),
        "layer.uid-drop": CheckSubject(
            "layer uid-drop", "runs programs as another user; only for a service that is root"
        ),
        "landlock": CheckSubject("Landlock", "version of the kernel's"),
        "openat2": CheckSubject(
            "openat2",
            "keeps file tools inside the workspace; without it every path is walked step by step",
            "Linux 5.6 or newer, not blocked by a container's filter",
        ),
        "program.bash": CheckSubject(
            "program bash", "the bash tool runs commands with it", "install bash"
        ),
        "program.rg": CheckSubject(
            "program rg",
            "only compared with in benchmarks; grep works without it",
            "install ripgrep",
        ),
        "program.git": CheckSubject(
            "program git", "commands of agents often need it", "install git"
        ),
        "program.node": CheckSubject(
            "program node",
            "only for checking the protocol documents",
            "install Node.js 22 or newer",
        ),
        "fts5": CheckSubject(
            "SQLite FTS5", "finds memories", "use a Python whose SQLite is built with FTS5"
        ),
        "images": CheckSubject("image provider", _IMAGES),
        "images.none": CheckSubject(
            "image provider",
            _IMAGES,
            "set TOLLGATE_IMAGES__PROVIDER to openai, with TOLLGATE_IMAGES__API_KEY, or to draw"
            " for trials",
        ),
        "images.keyless": CheckSubject(
            "image provider",
            _IMAGES,
            "set TOLLGATE_IMAGES__API_KEY, unless that server wants no key",
        ),
        "search": CheckSubject("search engine", _SEARCH),
        "search.none": CheckSubject(
            "search engine",
            _SEARCH,
            "set TOLLGATE_WEB__SEARCH_PROVIDER=auto; TOLLGATE_WEB__SEARXNG_URL,"
            " TOLLGATE_WEB__BRAVE_API_KEY or TOLLGATE_WEB__TAVILY_API_KEY choose another than"
            " DuckDuckGo",
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
            "key of data sources", _SEALS, "`openssl rand -base64 32` makes one"
        ),
        "source_keys.unreadable": CheckSubject("key of data sources", _SEALS, "make it readable"),
        "source_keys.exposed": CheckSubject(
            "key of data sources",
            _SEALS,
            "chmod 600 {path}, then POST /api/v1/admin/sources/keys/rotate",
        ),
        "sqlite_folder": CheckSubject(
            "SQLite folder",
            "its files may be data sources",
            "make it, or change TOLLGATE_SOURCES__SQLITE_FOLDERS",
        ),
        "condition": CheckSubject("running service", "whether it takes new work"),
        "condition.database_lost": CheckSubject(
            "running service",
            "nothing is written or read any more, so that nothing is lost",
            "stop it, put the right database in place, start it again",
        ),
        "condition.database_failing": CheckSubject(
            "running service", _NO_WORK, "free some space, or end what holds the database"
        ),
        "condition.disk_low": CheckSubject(
            "running service",
            _NO_WORK,
            "free some space, or lower TOLLGATE_SERVING__DISK_RESERVE_MB",
        ),
        "condition.disk_silent": CheckSubject(
            "running service",
            _NO_WORK,
            "see to the disk or the network drive that holds the data directory",
        ),
        "condition.data_dir_gone": CheckSubject(
            "running service", _NO_WORK, "mount or make the data directory again"
        ),
        "condition.data_dir_read_only": CheckSubject(
            "running service", _NO_WORK, "mount the disk of the data directory for writing"
        ),
        "condition.files_low": CheckSubject(
            "running service", _NO_WORK, "raise `ulimit -n`, or LimitNOFILE of the unit"
        ),
        "condition.memory_low": CheckSubject(
            "running service",
            _NO_WORK,
            "raise the limit of the container, of the unit or of `ulimit -v`",
        ),
        "condition.processes_low": CheckSubject(
            "running service", _NO_WORK, "raise the limit of processes of the container or the unit"
        ),
        "condition.journal_large": CheckSubject(
            "running service",
            "the journal of the database grows while something reads from it",
            "end the program that has the database open",
        ),
        "condition.clock_set": CheckSubject(
            "running service",
            "what expires may do so too early or too late",
            "see to the machine's time service",
        ),
        "open_files": CheckSubject(
            "limit of open files",
            "each connection needs one, each running command five",
            "raise `ulimit -n`, or LimitNOFILE of the unit",
        ),
        "condition.reported": CheckSubject("running service", _NO_WORK, "see docs/operations.md"),
        "tools": CheckSubject("tools", "which of them are on"),
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
        "setting.unknown": "in {source}, and no setting",
        "address.free": "{address} is free",
        "address.ours": "a Tollgate service answers on {address}",
        "address.taken": "{address}: {error}",
        "tls.clear": "{host} is served in the clear",
        "tokens.setting": "TOLLGATE_TOKEN is set",
        "tokens.stored": "{tokens}",
        "tokens.both": "TOLLGATE_TOKEN is set; {tokens}",
        "tokens.expired": "all have expired",
        "tokens.none": "none: `serve` will not start",
        "tokens.first": "none yet: `serve` makes the first one",
        "open_house.idle": "set, without effect",
        "open_house.open": "open to every user and program here",
        "embeddings.answers": "{model} answers with {numbers} numbers",
        "embeddings.unusable": "{model} cannot be used: {error}",
        "memory.answers": "PostgreSQL answers",
        "memory.unusable": "PostgreSQL cannot be used: {error}",
        "stronger_model.keyless": "{model} has no key",
        "plugin.left_out": "{at}: {error}",
        "loop.blocked": "{culprit} blocked it for {seconds} s at {at}",
        "loop.stopped": "{culprit} blocked it for {seconds} s at {at} and was stopped",
        "hook.works": "{event}, {origin}",
        "hook.missing": "program not found: {program}",
        "hook.exposed": "{path} lies in the workspace",
        "hook.unmatched": "matches no tool: {matcher}",
        "cost_limit.no_price": "model_prices has no price for {model}",
        **{f"sandbox.{code}": "{sentence}" for code in LEVEL_CODES},
        "sandbox.lacks": "layers that this machine does not have: {layers}",
        "landlock.version": "ABI {abi}",
        "images.draw": "draw: simulated, shapes only",
        "images.keyless": "openai, {url}, no key",
        "images.keyed": "openai, {url}, key set",
        "search.absent": "ddgs is not installed",
        "weather.simulated": "{provider}: every value is invented",
        "source_keys.none": "none yet: the first password makes it",
        "source_keys.setting": "TOLLGATE_SOURCES__KEYS is set",
        "source_keys.unreadable": "{path}: {error}",
        "source_keys.exposed": "others may read {path} (mode {mode}), so it is not used",
        "sqlite_folder.none": "{path} is not a folder",
        "condition.none": "takes new work",
        "condition.database_lost": "{error}",
        "condition.database_failing": "{error}",
        "condition.disk_low": "{mib} MiB are free where the data directory is",
        "condition.disk_silent": "the data directory does not answer",
        "condition.data_dir_gone": "the data directory cannot be reached: {error}",
        "condition.data_dir_read_only": "the data directory is read-only",
        "condition.files_low": "{used} of {limit} files are open",
        "condition.memory_low": "{used} of {limit} MiB of memory are used",
        "condition.processes_low": "{used} of {limit} processes run",
        "condition.journal_large": "the journal has {mib} MiB",
        "condition.clock_set": "the machine's clock was set",
        "condition.reported": "{error}",
        "open_files.limit": "{limit}",
    }
)
