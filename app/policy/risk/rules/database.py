"""Database clients, their administration commands and migration tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.policy.risk.call import (
    Answer,
    CommandCall,
    Options,
    Rule,
    RuleTable,
    ask,
    asking,
    options,
    run,
    script,
    table,
)


@dataclass(frozen=True, slots=True)
class SqlClient:
    """`code` options contain SQL; `operand` is the index of an operand with SQL, if any."""

    code: str
    valued: str
    operand: int | None = None
    needs: str = ""


_CLIENTS: dict[str, SqlClient] = {
    **dict.fromkeys(
        ("mysql", "mariadb"),
        SqlClient(
            "e -execute -init-command",
            "u h P D S -user -host -port -database -socket -defaults-file",
        ),
    ),
    **dict.fromkeys(
        ("psql", "cockroach-sql", "pgcli"),
        SqlClient(
            "c -command",
            "h p U d f v o F L P R T -host -port -username -dbname -file -set -variable -output",
        ),
    ),
    **dict.fromkeys(
        ("sqlite3", "sqlite", "litecli"),
        SqlClient("cmd -cmd", "init separator nullvalue", operand=1),
    ),
    "duckdb": SqlClient("c s cmd", "init", operand=1),
    **dict.fromkeys(("sqlcmd", "osql"), SqlClient("Q q", "S U P d i o")),
    **dict.fromkeys(
        ("clickhouse-client", "clickhouse", "clickhouse-local"),
        SqlClient("q -query", "h u d -host -user -password -database -port"),
    ),
    "cqlsh": SqlClient("e -execute", "u p k f"),
    "snowsql": SqlClient("q -query", "a u d s w r f"),
    "cockroach": SqlClient("e -execute", "u -host -url -database"),
    "trino": SqlClient("-execute", "-server -catalog -schema -user"),
    "presto": SqlClient("-execute", "-server -catalog -schema -user"),
    "usql": SqlClient("c -command", "f"),
    "mycli": SqlClient("e -execute", "u h P D"),
    "beeline": SqlClient("e", "u n p"),
    **dict.fromkeys(("hive", "spark-sql"), SqlClient("e", "f")),
    "impala-shell": SqlClient("q -query", "i f d -database"),
    "snow": SqlClient("q -query", "c f -connection", needs="sql"),
    **dict.fromkeys(("isql-fb", "surreal", "mclient", "db2"), SqlClient("", "")),
    "turso": SqlClient("", "", operand=3, needs="shell"),
    "wrangler": SqlClient("-command", "-config -env", needs="execute"),
    "isql": SqlClient("", ""),
    "sqlplus": SqlClient("", ""),
    "bq": SqlClient("", "-project_id -dataset_id", operand=1, needs="query"),
}


_MYSQL = frozenset(["mysql", "mariadb", "mycli"])


def _texts(call: CommandCall, given: Options, texts: list[str], language: str) -> Iterator[Answer]:
    """Yield SQL in options and in files written by this script, and where the results go."""
    files = [path for path in given.all_values("-f", "--file", "-i") if call.was_written(path)]
    texts.extend(call.written(path) or "\0" for path in files)
    for piped in given.all_values("-o", "--output"):
        if piped.startswith("|"):
            yield script(piped[1:])
    for text in texts:
        for path in re.findall(r"(?m)^[^\S\n]*+(?:\.read|\\ir?|source|\\\.)\s+(\S+)", text):
            if call.was_written(path.rstrip(";")):
                yield script(call.written(path.rstrip(";")), language)
        yield script(text, language)


def _rule(spec: SqlClient) -> Rule:
    def rule(call: CommandCall) -> Iterator[Answer]:
        language = "mysql" if call.name in _MYSQL else "sql"
        clusters = call.name not in {"sqlite3", "sqlite", "duckdb"}
        given = options(call.args, f"{spec.valued} {spec.code}", clusters=clusters)
        if spec.needs and spec.needs not in given.rest:
            return
        texts = given.all_values(*("-" + name for name in spec.code.split()))
        if spec.operand is not None:
            texts += given.rest[spec.operand :]
        yield from _texts(call, given, texts, language)
        if (
            not texts
            and call.stdin
            and not call.stdin.file
            and not given.has("-f", "--file", "-l", "--list", "-i")
        ) or (call.stdin and call.stdin.text is not None and not texts):
            yield script(call.stdin.text, language)

    return rule


def _redis(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "h p a n u r i s -user -pass", stop=True)
    words = [word.upper() for word in given.rest]
    if given.has("--eval"):
        yield ask("redis", "redis runs a script")
        return
    if call.stdin and not words:
        words = (call.stdin.text or "UNKNOWN_INPUT").upper().split()
    if not words:
        return
    lossy = {
        "FLUSHALL",
        "FLUSHDB",
        "DEL",
        "UNLINK",
        "SHUTDOWN",
        "EVAL",
        "EVALSHA",
        "DEBUG",
        "UNKNOWN_INPUT",
        "SWAPDB",
        "MODULE",
        "GETDEL",
        "HDEL",
        "LREM",
        "LTRIM",
        "SPOP",
        "SREM",
        "XDEL",
        "XTRIM",
        "ZREM",
        "ZREMRANGEBYLEX",
        "ZREMRANGEBYRANK",
        "ZREMRANGEBYSCORE",
        "REPLICAOF",
        "SLAVEOF",
    }
    first = words[0]
    second = words[1] if len(words) > 1 else ""
    if first in lossy or (call.stdin and lossy & set(words)):
        yield ask("redis", f"redis {first.lower()} destroys data or runs code")
    elif (first, second) in {
        ("CONFIG", "SET"),
        ("SCRIPT", "FLUSH"),
        ("FUNCTION", "FLUSH"),
        ("ACL", "DELUSER"),
        ("CLUSTER", "RESET"),
        ("XGROUP", "DESTROY"),
    }:
        yield ask("redis", f"redis {first.lower()} {second.lower()}")


_MONGO = re.compile(
    r"dropDatabase|\.drop\w*\s*\(|(?:deleteMany|remove)\s*\(\s*(?:\{\s*\})?\s*[,)]|"
    r"deleteMany|deleteOne|\.remove\w*\s*\(|\._(?:drop\w*|truncate)\s*\(|"
    r"shutdownServer|\beval\b|renameCollection|\[\s*['\"]"
    r"|findOneAndDelete|updateMany\s*\(\s*\{\s*\}|(?:admin|run)?Command\s*\([^)]*"
    r"\b(?:shutdown|drop\w*|delete)['\"]?\s*:"
)


def _mongo(call: CommandCall) -> Iterator[Answer]:
    given = options(
        call.args,
        "u p -eval -host -port -username -password -javascript.execute-string -server.endpoint",
    )
    texts = given.all_values("--eval", "--javascript.execute-string")
    texts += [call.written(path) or "eval" for path in given.rest if call.was_written(path)]
    if call.stdin and not call.stdin.file and not texts:
        texts = [call.stdin.text] if call.stdin.text is not None else ["eval"]
    if any(_MONGO.search(text) for text in texts):
        yield ask("mongo", "deletes documents, collections or databases")
    yield from (script(text, "node") for text in texts)


def _mysqlsh(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "e f u h P D p -execute -file -user -host -port -schema -password")
    languages = {"--py": "python", "--js": "node"}
    language = next((languages[flag] for flag in given.flags if flag in languages), "mysql")
    texts: list[str | None] = [*given.all_values("-e", "--execute")]
    if not texts and call.stdin and not call.stdin.file:
        texts.append(call.stdin.text)
    yield from (script(text, language) for text in texts)


def _cypher(call: CommandCall) -> Iterator[Answer]:
    """Handle Cypher: `DELETE` and `REMOVE` follow the matched entities."""
    given = options(call.args, "a u p d f -address -username -password -database -file -format")
    texts: list[str | None] = [*given.rest] or (
        [call.stdin.text] if call.stdin and not call.stdin.file else []
    )
    for text in texts:
        if text is None or re.search(r"\b(?:delete|drop|remove)\b", text, re.IGNORECASE):
            yield ask("database_admin", "deletes nodes, or runs unknown statements")


def _mysqladmin(call: CommandCall) -> Iterator[Answer]:
    words = set(options(call.args, "u h P S -user -host").rest)
    if words & {"drop", "shutdown", "flush-logs", "kill", "password"}:
        yield ask("database_admin", "drops or stops a database")


def _restore(call: CommandCall) -> Iterator[Answer]:
    if options(call.args, "d h p U f j n t -dbname").has("-c", "--clean", "--drop"):
        yield ask("database_admin", "drops objects before restoring them")


def _bq(call: CommandCall) -> Iterator[Answer]:
    yield from _rule(_CLIENTS["bq"])(call)
    if options(call.args, "-project_id -dataset_id").rest[:1] == ["rm"]:
        yield ask("database_admin", "bq rm deletes tables or data sets")


_MIGRATIONS: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for names, pattern in {
        "prisma": r"migrate reset|db push.*(?:--force-reset|--accept-data-loss)|db execute",
        "alembic": r"\bdowngrade\b(?!.*--sql)",
        "rails rake": r"\bdb:(?:drop|reset|purge|schema:load|rollback|setup|truncate_all|"
        r"migrate:(?:reset|redo|down)|seed:replant|structure:load)|^(?:destroy|d)\s",
        "flask": r"db downgrade",
        "aerich": r"^downgrade",
        "mikro-orm mikro-orm-esm": r"(?:schema|migration):(?:drop|fresh|down)|database:drop",
        "sea-orm-cli": r"migrate (?:reset|fresh|down|refresh)",
        "sequelize sequelize-cli": r"db:drop|db:migrate:undo",
        "knex": r"migrate:(?:rollback|down)",
        "typeorm typeorm-ts-node-commonjs": r"schema:drop|migration:revert|schema:sync",
        "flyway": r"\bclean\b|\bundo\b",
        "liquibase": r"drop-?[aA]ll|rollback",
        "artisan": r"migrate:(?:fresh|reset|refresh|rollback)|db:wipe|queue:flush",
        "console": r"doctrine:(?:database|(?:mongodb:)?schema):drop|"
        r"doctrine:fixtures:load(?!.*--append)|"
        r"doctrine:migrations:(?:rollup|migrate\s+(?:first|prev|0))\b",
        "dotnet": r"^ef database (?:drop|update 0)",
        "mix": r"ecto\.(?:drop|reset|rollback)",
        "drizzle-kit": r"\bdrop\b|push.*--force",
        "supabase": r"db reset|projects delete|branches delete|functions delete",
        "goose": r"\b(?:down|down-to|reset|redo)\b",
        "dbmate": r"\b(?:drop|down|rollback)\b",
        "migrate": r"\b(?:down|drop|force)\b",
        "diesel": r"database reset|migration (?:revert|redo)",
        "sqlx": r"database (?:drop|reset)|migrate revert",
        "atlas": r"schema clean|migrate down|schema apply.*--auto-approve",
        "influx": r"(?i:\bdelete\b|\bdrop\b)",
        "etcdctl": r"\bdel\b|member remove",
        "consul": r"kv delete|leave",
        "vault": r"\bdelete\b|\bdestroy\b|secrets disable|\brevoke\b",
        "nomad": r"\bstop\b.*-purge|system gc",
        "rabbitmqctl": r"\b(?:reset|force_reset|delete_\w+|purge_queue|stop\w*)\b",
        "kafka-topics kafka-topics.sh": r"--delete",
        "fauna": r"\bdelete\b",
        "hasura": r"metadata clear|migrate delete|migrate apply.*--down",
        "ace": r"migration:(?:fresh|reset|rollback|refresh)|db:(?:wipe|truncate)",
        "gradle gradlew mvn mvnw": r"(?i:flyway:?clean|liquibase:?drop-?all)",
        "airflow superset": r"\bdb (?:reset|downgrade|clean)\b",
        "wp": r"\bdb (?:reset|drop|clean)\b|\b(?:delete|uninstall|empty)\b",
        "drush": r"\bsql[:-]drop\b|\b(?:entity:delete|site:install|si)\b",
        "magento": r"setup:uninstall",
        "tern": r"migrate\b.*-d (?:0|-)",
        "mongoimport": r"--drop\b",
        "sqitch": r"\b(?:revert|rebase|checkout)\b",
        "phinx cake bin/cake": r"\b(?:migrations )?rollback\b",
        "yoyo yoyo-migrate": r"\b(?:rollback|reapply|break-lock)\b",
        "skeema": r"--allow-unsafe\b",
        "db-migrate node-pg-migrate migrate-mongo pg-migrate umzug shmig rambler postgrator east "
        "mongo-migrate evolve grate rh roundhouse pyway pgmigrate pgroll geni lucky hanami piccolo "
        "waterline-migrate jake": r"\b(?:down|reset|db:drop|rollback|backwards|unload|erase|"
        r"clean|drop|db\.drop|db\.reset|db\.rollback)\b|--drop\b",
        "yii": r"\bmigrate/(?:down|fresh|redo|to|mark)\b|\bcache/flush-all\b",
    }.items()
    for name in names.split()
}


MIGRATING = frozenset(_MIGRATIONS)


def _migration(call: CommandCall) -> Iterator[Answer]:
    pattern = _MIGRATIONS[call.name]
    if pattern.search(" ".join(call.args)) and not {"--help", "-h"} & set(call.args):
        yield ask("migration", f"{call.name} can lose the database's content")


_CHANGES_ROWS = re.compile(
    r"(?:\.|::|->)(?:_?raw_?)?(?:delete|update|raw|execute|truncate|destroy|drop)\w*\b|\bcursor\b"
)
_DJANGO = re.compile(
    r"^(?:flush|reset_db|clean_\w+|remove_stale_contenttypes)\b|"
    r"^migrate\s+(?!.*--plan\b)\S+\s+(?:zero|\d{1,4}\w*)\b"
)


def _application_code(code: str | None, language: str) -> Iterator[Answer]:
    """Handle code that runs inside an application, with access to its database."""
    yield script(code, language)
    if code is not None and _CHANGES_ROWS.search(code):
        yield ask("migration", "the code deletes or changes rows")


def _rails(call: CommandCall) -> Iterator[Answer]:
    yield from _migration(call)
    words = options(call.args, "e -environment").rest
    if words[:1] in (["runner"], ["r"]) and len(words) > 1 and not words[1].endswith(".rb"):
        yield from _application_code(words[1], "ruby")
    elif words[:1] in (["console"], ["c"]) and call.stdin and not call.stdin.file:
        yield from _application_code(call.stdin.text, "ruby")


def _flask(call: CommandCall) -> Iterator[Answer]:
    yield from _migration(call)
    if "shell" in call.args and call.stdin and not call.stdin.file:
        yield from _application_code(call.stdin.text, "python")


def _mix(call: CommandCall) -> Iterator[Answer]:
    yield from _migration(call)
    if call.args[:1] in (["run"], ["eval"]):
        given = options(call.args[1:], "e r -eval -require")
        codes = given.rest[:1] if call.args[0] == "eval" else given.all_values("-e", "--eval")
        for code in codes:
            yield from _application_code(code, "elixir")


def _ace(call: CommandCall) -> Iterator[Answer]:
    """Handle `node ace …`: a program of the project with separate rules."""
    if call.args[:1] and (name := call.args[0].rsplit("/", 1)[-1]) == "ace":
        yield run([name, *call.args[1:]])


def _django(call: CommandCall) -> Iterator[Answer]:
    args = call.args[1:] if call.name.startswith("python") else call.args
    if call.name.startswith(("python", "php")):
        tool = call.args[0].rsplit("/", 1)[-1] if call.args else ""
        if tool not in {"manage.py", "artisan", "console"}:
            return
        args = call.args[1:]
        if tool in _MIGRATIONS and _MIGRATIONS[tool].search(" ".join(args)):
            yield ask("migration", f"{tool} can lose the database's content")
            return
        for code in options(args, "-execute").all_values("--execute"):
            yield from _application_code(code, "php")
    if args[:1] == ["shell"] and call.stdin and not call.stdin.file:
        yield from _application_code(call.stdin.text, "python")
    if args[:1] == ["dbshell"] and call.stdin:
        yield script(call.stdin.text, "sql")
    if args[:1] == ["shell"]:
        for code in options(args[1:], "c i -command -interface").all_values("-c", "--command"):
            yield from _application_code(code, "python")
    if _DJANGO.search(" ".join(args)):
        yield ask("migration", "Django would empty or roll back the database")


RULES: RuleTable = {
    **{name: _rule(spec) for name, spec in _CLIENTS.items()},
    **table("redis-cli valkey-cli keydb-cli", _redis),
    **table("mongosh mongo arangosh", _mongo),
    "cypher-shell": _cypher,
    "mysqlsh": _mysqlsh,
    **table("mysqladmin mariadb-admin", _mysqladmin),
    "pg_restore": _restore,
    "mongorestore": _restore,
    "bq": _bq,
    **asking(
        "dropdb dropuser pg_resetwal pg_dropcluster", "database_admin", "drops a database or a role"
    ),
    **table(" ".join(_MIGRATIONS), _migration),
    **table("rails rake", _rails),
    "flask": _flask,
    "node": _ace,
    "php": _django,
    "mix": _mix,
    **asking("memcflush memflush", "database_admin", "empties a cache"),
    **table(
        "python python3 django-admin manage.py python3.11 python3.12 python3.13 django", _django
    ),
}
