"""Real database servers for tests: MariaDB and PostgreSQL in separate folders.

Each listens on loopback and on a socket, contains the shop of `sql_shop`, and ends with its block.
Started by root, they run as the user created by their package.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from app.knowledge.sources.drivers.protocol import ConnectionTarget
from app.knowledge.sources.model import DatabaseAddress
from scripts.parts import MARIADB, POSTGRESQL, POSTGRESQL_TLS, postgres_programs
from tests.support.binaries import lacks, require_binary, require_part
from tests.support.sql_shop import Kind, script

HOST = "127.0.0.1"
DATABASE = "shop"
READER, PASSWORD = "shop_reader", "reader-pass-7Qx!"
WRITER, WRITER_PASSWORD = "shop_writer", "writer-pass-9Zk!"
START_S, STOP_S = 60, 30
_NOBODY = "nobody"


@dataclass(frozen=True)
class SqlServer:
    """Running server, and its administrator's command line."""

    kind: Kind
    port: int
    folder: Path
    admin: tuple[str, ...]
    has_tls: bool = True

    @property
    def socket_path(self) -> str:
        """Return the `unix_socket` of a source."""
        return str(self.folder / "db.sock") if self.kind == "mysql" else str(self.folder)

    def address(self, *, user: str = READER, through: str = "tcp") -> DatabaseAddress:
        """Return its address, over loopback or its socket."""
        if through == "socket":
            port = None if self.kind == "mysql" else self.port
            return DatabaseAddress(
                unix_socket=self.socket_path, port=port, database=DATABASE, user=user, tls="off"
            )
        return DatabaseAddress(host=HOST, port=self.port, database=DATABASE, user=user, tls="off")

    def target(self, *, through: str = "tcp") -> ConnectionTarget:
        return ConnectionTarget("Shop", self.address(through=through), PASSWORD)

    def require_tls(self) -> None:
        """Skip the test if the server does not support TLS."""
        if not self.has_tls:
            lacks(POSTGRESQL_TLS)

    def ask(self, sql: str, *, database: str = DATABASE) -> list[str]:
        """Return the output lines of an administrator's statement."""
        done = subprocess.run(
            [*self.admin, database],
            input=sql,
            capture_output=True,
            text=True,
            timeout=STOP_S * 4,
            check=False,
        )
        if done.returncode:
            raise AssertionError(f"{sql[:200]}: {done.stderr[:2000]}")
        return [line for line in done.stdout.splitlines() if line]

    def running(self) -> int:
        """Return the number of running statements of the reader."""
        if self.kind == "mysql":
            sql = (
                "SELECT count(*) FROM information_schema.processlist"
                f" WHERE user = '{READER}' AND command = 'Query'"
            )
        else:
            sql = (
                "SELECT count(*) FROM pg_stat_activity"
                f" WHERE usename = '{READER}' AND state = 'active'"
            )
        return int(self.ask(sql)[0])

    def connections(self) -> int:
        """Return the number of connections of the reader."""
        table, column = {
            "mysql": ("information_schema.processlist", "user"),
            "postgres": ("pg_stat_activity", "usename"),
        }[self.kind]
        return int(self.ask(f"SELECT count(*) FROM {table} WHERE {column} = '{READER}'")[0])


@contextmanager
def mariadb() -> Iterator[SqlServer]:
    """Run a MariaDB with the shop."""
    require_part(MARIADB)
    server, install = require_binary("mariadbd"), require_binary("mariadb-install-db")
    client = require_binary("mariadb")
    with _folder("mysql") as (folder, user):
        data, port, temporary = folder / "data", free_port(), _own_tmp(folder, user)
        _do(
            *(str(install), "--no-defaults", f"--datadir={data}", "--skip-test-db", temporary),
            "--auth-root-authentication-method=normal",
            *([f"--user={user}"] if user else []),
        )
        command = [
            *(str(server), "--no-defaults", f"--datadir={data}", f"--socket={folder}/db.sock"),
            *(temporary, f"--port={port}", f"--bind-address={HOST}", f"--pid-file={folder}/db.pid"),
            *("--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin"),
            "--innodb-buffer-pool-size=128M",
            *(f"--ssl-cert={folder}/server.crt", f"--ssl-key={folder}/server.key"),
            *([f"--user={user}"] if user else []),
        ]
        admin = (str(client), "--no-defaults", "-uroot", f"--socket={folder}/db.sock", "-N")
        found = SqlServer("mysql", port, folder, admin)
        with _running(command, folder, signal.SIGTERM):
            _until_it_answers(found, "mysql")
            found.ask(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4", database="mysql")
            found.ask(script("mysql"))
            for name, password, rights in (
                (READER, PASSWORD, "SELECT"),
                (WRITER, WRITER_PASSWORD, "SELECT, INSERT"),
            ):
                found.ask(f"CREATE USER '{name}'@'%' IDENTIFIED BY '{password}'")
                found.ask(f"GRANT {rights} ON {DATABASE}.* TO '{name}'@'%'")
            yield found


def _own_tmp(folder: Path, user: str | None) -> str:
    """Return a separate folder: a starting server removes temporary tables of others in a shared
    one.
    """
    temporary = folder / "tmp"
    temporary.mkdir()
    if user is not None:
        shutil.chown(temporary, user)
    return f"--tmpdir={temporary}"


@contextmanager
def postgres() -> Iterator[SqlServer]:
    """Run a PostgreSQL with the shop."""
    installed = postgres_programs()
    if installed is None:
        lacks(POSTGRESQL)
    with _folder("postgres") as (folder, user):
        programs = _reachable(installed, folder) if user else installed
        data, port = folder / "data", free_port()
        as_user = (
            ["setpriv", f"--reuid={user}", f"--regid={_group_of(user)}", "--clear-groups"]
            if user
            else []
        )
        has_tls = _knows_tls(programs)
        _do(
            *as_user,
            *(str(programs / "initdb"), "-D", str(data), "-U", "postgres", "-E", "UTF8"),
            *("--locale=C.UTF-8", "--auth-local=trust", "--auth-host=scram-sha-256"),
        )
        command = [
            *as_user,
            *(str(programs / "postgres"), "-D", str(data), "-p", str(port), "-h", HOST),
            *("-k", str(folder), "-c", "fsync=off", "-c", "full_page_writes=off"),
            *(_tls(folder) if has_tls else ()),
        ]
        admin = (
            *(str(programs / "psql"), "-h", str(folder), "-p", str(port), "-U", "postgres"),
            *("-At", "-q", "-v", "ON_ERROR_STOP=1"),
        )
        found = SqlServer("postgres", port, folder, admin, has_tls)
        with _running(command, folder, signal.SIGINT):
            _until_it_answers(found, "postgres")
            found.ask(f"CREATE DATABASE {DATABASE}", database="postgres")
            found.ask(script("postgres"))
            for name, password, rights in (
                (READER, PASSWORD, "SELECT"),
                (WRITER, WRITER_PASSWORD, "SELECT, INSERT"),
            ):
                found.ask(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
                found.ask(f"GRANT {rights} ON ALL TABLES IN SCHEMA public TO {name}")
            yield found


def _tls(folder: Path) -> tuple[str, ...]:
    return (
        *("-c", "ssl=on", "-c", f"ssl_cert_file={folder}/server.crt"),
        *("-c", f"ssl_key_file={folder}/server.key"),
    )


def _knows_tls(programs: Path) -> bool:
    """Return whether a PostgreSQL was built with TLS, unlike that of the Python package."""
    asked = [str(programs / "pg_config"), "--configure"]
    reported = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    return "openssl" in reported


def _reachable(programs: Path, folder: Path) -> Path:
    """Return a location of the programs accessible to every user: root's home may not be."""
    user = ["setpriv", f"--reuid={_NOBODY}", "--clear-groups"]
    # Check with another program: setpriv itself starts programs with its previous rights.
    tried = [*user, "test", "-x", str(programs / "postgres")]
    if subprocess.run(tried, check=False).returncode == 0:
        return programs
    package = programs.parents[1]
    copied = folder / package.name
    # Its libraries are found next to the package.
    shutil.copytree(package / programs.parent.name, copied / programs.parent.name)
    libraries = package.with_name(f"{package.name}.libs")
    shutil.copytree(libraries, folder / libraries.name)
    return copied / programs.parent.name / programs.name


def _group_of(user: str) -> int:
    return pwd.getpwnam(user).pw_gid


def sqlite_file(path: Path) -> Path:
    """Create the shop in a SQLite file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        connection.executescript(f"BEGIN;{script('sqlite')}COMMIT;")
    return path


def free_port() -> int:
    """Return an unused port of loopback."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@contextmanager
def _folder(user: str) -> Iterator[tuple[Path, str | None]]:
    """Provide a folder, and the user to run as in it; None for the current one."""
    folder = Path(tempfile.mkdtemp(prefix="sql-"))
    runs_as = _user_for(user) if os.geteuid() == 0 else None
    try:
        _certify(folder)
        if runs_as is not None:
            entry = pwd.getpwnam(runs_as)
            for path in (folder, *folder.iterdir()):
                os.chown(path, entry.pw_uid, entry.pw_gid)
        folder.chmod(0o755)
        yield folder, runs_as
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user_for(package: str) -> str:
    """Return the user created by a Debian package for its server; nobody if not installed."""
    try:
        return pwd.getpwnam(package).pw_name
    except KeyError:
        return _NOBODY


def _certify(folder: Path) -> None:
    """Create a certificate for loopback, trusted only if named, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "shop")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "server.crt").write_bytes(certificate.public_bytes(Encoding.PEM))
    private = folder / "server.key"
    private.touch(mode=0o600)
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


@contextmanager
def _running(command: Sequence[str], folder: Path, ending: signal.Signals) -> Iterator[None]:
    with (
        (folder / "log.txt").open("wb") as log,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process,
    ):
        try:
            yield
        finally:
            process.send_signal(ending)
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _until_it_answers(server: SqlServer, database: str) -> None:
    until = time.monotonic() + START_S
    while True:
        try:
            server.ask("SELECT 1", database=database)
        except AssertionError:
            if time.monotonic() > until:
                log = (server.folder / "log.txt").read_text(encoding="utf-8", errors="replace")
                raise AssertionError(f"the server did not start: {log[-2000:]}") from None
            time.sleep(0.1)
        else:
            return


def _do(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise AssertionError(f"{command[0]}: {done.stderr[-2000:]}")
