"""Fetching, sending and listening."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import (
    Answer,
    CommandCall,
    Options,
    RuleTable,
    ask,
    names,
    options,
    run,
    script,
    table,
)
from app.policy.risk.model import RiskLevel
from app.policy.risk.paths import reading, writing

_CURL = (
    "o X d H u A e b c F T K m x w C E r Y y z Q -quote -output -request -data -data-binary "
    "-data-raw -data-urlencode -header -user "
    "-user-agent -referer -cookie -form -upload-file -config -max-time -proxy "
    "-write-out -cacert -cert -key -connect-timeout "
    "-retry -json -url -output-dir -unix-socket -abstract-unix-socket -resolve -interface"
)


_ENGINES = ("docker.sock", "containerd.sock", "podman.sock")


_CREDENTIALS_URL = re.compile(
    r"(?:https?://)?(?:169\.254\.169\.254|100\.100\.100\.200|metadata\.google\.internal"
    r"|\[fd00:ec2::254\])(?:[:/]|$)"
)


def _metadata(call: CommandCall) -> Iterator[Answer]:
    if any(_CREDENTIALS_URL.match(arg) for arg in call.args):
        yield ask("secret_read", "requests this host's credentials from the cloud")


_DELETING_URL = re.compile(r"/(?:do|_)?delete(?:[-_]\w+)*/?(?:[?&#]|$)", re.IGNORECASE)


_ENVIRONMENT = re.compile(r"(?:^|/)\.env(?:\.(?!example|sample|template|dist)\w+)*$")
_CURL_SENDS = names("-d --data --data-binary --data-urlencode -F --form -T --upload-file --json")


def _asks_to_delete(given: Options, *, sends: bool) -> bool:
    method = (given.value("-X", "--request") or "").upper()
    if not {"DELETE", "FLUSHALL", "DELE"}.isdisjoint(method.split()):
        return True
    if any(
        re.match(r"[-+*]?(?:DELE|RMD|rm|rmdir)\b", text)
        for text in given.all_values("-Q", "--quote")
    ):
        return True
    sends = sends or method in {"POST", "PUT", "PATCH"}
    return sends and any(_DELETING_URL.search(url) for url in given.rest)


def _curl(call: CommandCall) -> Iterator[Answer]:
    yield from _metadata(call)
    given = options(call.args, _CURL)
    sent = given.all_values(*_CURL_SENDS)
    if _asks_to_delete(given, sends=bool(sent)):
        yield ask("http_delete", "asks a server to delete", RiskLevel.MEDIUM)
    for target in given.all_values("-o", "--output"):
        yield from writing(call.at(target), call.home)
    for value in sent:
        path = re.sub(r"^[^@<]*[@<]", "", value)
        yield from reading(call.at(path), call.home)
        if _ENVIRONMENT.search(path):
            yield ask("secret_read", f"sends {path}, which contains settings and keys")
    for socket in given.all_values("--unix-socket", "--abstract-unix-socket"):
        if socket.endswith(_ENGINES):
            yield ask("host_access", "talks to the container engine, which controls the host")
    if given.has("-K", "--config"):
        yield ask("opaque_code", "reads its options from a file", RiskLevel.MEDIUM)
    for url in given.rest:
        if url.startswith("file://"):
            yield from reading(call.at(url[7:]), call.home)


def _wget(call: CommandCall) -> Iterator[Answer]:
    yield from _metadata(call)
    given = options(
        call.args,
        "O o a P i e U t T w Q A R D l -output-document -output-file "
        "-directory-prefix -input-file -execute -user-agent -method "
        "-body-data -body-file -post-data -post-file -header -use-askpass -tries -timeout",
    )
    for target in given.all_values("-O", "--output-document", "-o", "-a", "--output-file"):
        yield from writing(call.at(target), call.home)
    for folder in given.all_values("-P", "--directory-prefix"):
        yield from writing(call.at(folder), call.home)
    if (given.value("--method") or "").upper() == "DELETE":
        yield ask("http_delete", "asks a server to delete", RiskLevel.MEDIUM)
    for program in given.all_values("--use-askpass"):
        yield run([program])
    for setting in given.all_values("-e", "--execute"):
        key, _, value = setting.partition("=")
        name = key.strip().replace("-", "_").lower()
        if name in {"post_file", "body_file", "input", "use_askpass"}:
            yield ask("opaque_code", f"sets {name} as .wgetrc would")
        elif name in {"output_document", "logfile", "dir_prefix"}:
            yield from writing(call.at(value.strip()), call.home)
    for path in given.all_values("--post-file", "--body-file"):
        yield from reading(call.at(path), call.home)
        if _ENVIRONMENT.search(path):
            yield ask("secret_read", f"sends {path}, which contains settings and keys")


def _httpie(call: CommandCall) -> Iterator[Answer]:
    yield from _metadata(call)
    words = options(call.args).rest[:2]
    verb = words[0].upper() if words else ""
    sends = verb == "POST" and any(map(_DELETING_URL.search, words[1:]))
    if verb == "DELETE" or sends:
        yield ask("http_delete", "asks a server to delete", RiskLevel.MEDIUM)


def _by_method(call: CommandCall) -> Iterator[Answer]:
    methods = options(call.args, "m H c n z q A a u p t -method").all_values("-m", "--method")
    if any(method.upper() == "DELETE" for method in methods):
        yield ask("http_delete", "asks a server to delete", RiskLevel.MEDIUM)


def _netcat(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "e c p s w i q x X -exec -sh-exec")
    for text in given.all_values("-e", "-c", "--exec", "--sh-exec"):
        yield ask("remote_shell", "gives a program to the network")
        yield script(text)
    if call.stdin and _EMPTIES.match(call.stdin.text or ""):
        yield ask("redis", "empties a database or a cache through the network")


_EMPTIES = re.compile(r"\s*(?:flushall|flushdb|flush_all|shutdown)\b", re.IGNORECASE)


def _socat(call: CommandCall) -> Iterator[Answer]:
    for arg in call.args:
        if re.match(r"(?:exec|system|shell):", arg, re.IGNORECASE):
            yield ask("remote_shell", "gives a program to the network")
        if match := re.match(r"(?:open|create|file|gopen):([^,]*)", arg, re.IGNORECASE):
            yield from writing(call.at(match.group(1)), call.home)


RULES: RuleTable = {
    **table("lwp-request ab hey oha bombardier", _by_method),
    "curl": _curl,
    "curlie": _curl,
    "wget": _wget,
    **table("http https xh xhs", _httpie),
    **table("nc ncat netcat", _netcat),
    "socat": _socat,
}
