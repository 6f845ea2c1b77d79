"""Secrets in program texts: reads of the environment or key files together with network access.

Texts are searched, not run, so the analysis asks if both occur in one text and the read may reach
the send. A secret that only authenticates, in a header or as a client's key, does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Answer, ask
from app.policy.risk.paths import reading
from app.policy.risk.secrets import ALL_OF, held, is_secret_name

SENDS = re.compile(
    # Python
    r"\b(?:requests|httpx|aiohttp|urllib3?|smtplib|ftplib|paramiko|telnetlib|websockets?|pycurl|boto3)\b"
    r"|\burlopen\b|\bhttp\.client\b|\bsocket\.(?:socket|create_connection|getaddrinfo|gethostby\w+)"
    # Node, Deno, Bun
    r"|\bfetch\s*\(|\b(?:require|import)\b[^;\n]{0,80}['\"](?:node:)?(?:https?|net|dns|tls|dgram|axios|got"
    r"|node-fetch|undici|superagent|ws|request|nodemailer)['\"]"
    r"|\bXMLHttpRequest\b|\baxios\b|\bnew WebSocket\b"
    r"|\bhttps?\.(?:get|request)\s*\(|\bdns\.(?:lookup|resolve)|\bDeno\.connect\b"
    # Ruby, Perl, PHP
    r"|\bNet::(?:HTTP|FTP|SMTP)\b|\bURI\.open\b|\bopen-uri\b|\bTCPSocket\b|\bUDPSocket\b|\bFaraday\b|\bHTTParty\b"
    r"|\bLWP\b|\bHTTP::(?:Tiny|Request)\b|\bIO::Socket\b|\bMojo::UserAgent\b"
    r"|\bcurl_(?:init|exec|setopt)\b|\bfsockopen\b|\bfile_get_contents\s*\(\s*['\"]https?:"
    r"|\bstream_socket_client\b|\bmail\s*\(|\bgethostbyname\b"
    # Go, Java, C#, Lua, R and others
    r"|\bhttp\.(?:Post|Get|NewRequest)\b|\bHttpClient\b|\bWebClient\b|\bURLConnection\b|\bsocket\.http\b"
    r"|\b(?:get|post|put|request)\s*\(?\s*f?['\"`]https?://|\bhttr::|\bhttr2\b|\bnet\.Dial\b",
)
_ENVIRONMENT = re.compile(
    r"\bos\.environb?\b(?!\s*(?:\[|\.(?:get|pop|setdefault)\b))|\bdict\(\s*environ\b"
    r"|\bprocess\.env\b(?!\s*(?:\.|\[|\?\.))|\bBun\.env\b(?!\.)|\bDeno\.env\.toObject\b"
    r"|\bENV\b(?:\.(?:to_h|to_a|inspect|map|each|to_json)\b|(?!\s*[\[.:]))|(?<!\w)%ENV\b|\bgetenv\(\s*\)"
    r"|\$_(?:ENV|SERVER)\b(?!\s*\[)|\bos\.Environ\(\)|\bSys\.getenv\(\s*\)|\bSystem\.getenv\(\s*\)"
    r"|/proc/self/environ"
)
_VARIABLE = re.compile(
    r"\b(?:environb?(?:\.get\(|\[)|getenv\()\s*b?['\"](?P<a>\w+)['\"]"
    r"|\b(?:process|Bun)\.env(?:\.(?P<b>\w+)|\[\s*['\"](?P<c>\w+)['\"]\s*\])|\bDeno\.env\.get\(\s*['\"](?P<d>\w+)"
    r"|\bENV(?:\.fetch)?\s*[\[(]\s*['\"](?P<e>\w+)['\"]|\$ENV\{\s*['\"]?(?P<f>\w+)['\"]?\s*\}"
    r"|\$_(?:ENV|SERVER)\[\s*['\"](?P<g>\w+)['\"]\s*\]|\bENVIRON\[\s*\"(?P<j>\w+)\"|\bos\.Getenv\(\s*\"(?P<h>\w+)\"|\bSystem\.getenv\(\s*\"(?P<i>\w+)\""
)
_HOME = "/home/-"
_TEMPLATE = re.compile(r"`(?P<path>[^`\n]{0,200})`")
_INTERPOLATED = re.compile(r"(?P<path>[}\]]/\.[\w./-]{1,100})['\"]")
"""End of a text with a nested quoted variable: `"#{ENV["HOME"]}/.netrc"`."""
_LITERAL = re.compile(r"(['\"])(?P<path>[^'\"\n]{0,200})\1")
_LOGS_IN = re.compile(
    r"\b(?:headers|auth|cookies)['\"]?\s*[=:]\s*(?:\{[^{}]*\}|\([^()]*\)|\[[^\[\]]*\])"
    r"|['\"]?\b(?:authorization|x-api-key|api[_-]?key|(?:auth|access|bot)?_?token|password|passwd|secret|bearer)['\"]?\s*"
    r"(?::|=>|=(?!=))\s*(?:f?['\"`][^'\"`\n]*['\"`]\s*[+.]?\s*)?[\w.$\[\](){}'\"]*",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"(?:^|[;\n:]|\b(?:const|let|var|my)\s)\s*[$@]?(?P<name>\w+)\s*=(?!=)\s*(?P<value>[^;\n]*)"
)
_ADDRESS = re.compile(r"\w+://(?:[^/@\s'\"]*@)?(?P<host>[^/:'\"\s]+)")
_NEAR = re.compile(r"localhost|127(?:\.\d+){3}|\[?::1\]?|0\.0\.0\.0")


_HOME_FILE = re.compile(
    # `<` opens a file in Perl; a substituted variable ends with a bracket.
    r"\s*[<+]*\s*(?:file://)?(?:~|/home/[^/]+|/root|\$HOME|[^/\s]{0,80}[}\])])?(?P<rest>/\.[\w./-]+)$"
)
_JOINED = re.compile(
    r"(?:\bhomedir\(\)|\benv\.HOME\b|\bDir\.home\b|\bHOME['\"]\s*[\])}]|\bgetenv\(\s*['\"]HOME['\"]\s*\))"
    r"\s*(?:,|\.concat\()\s*(?P<parts>(?:['\"`][\w./-]+['\"`]\s*,?\s*)+)"
)
"""`path.join(os.homedir(), ".ssh", "id_rsa")`."""
_PART = re.compile(r"['\"`]([\w./-]+)['\"`]")
_HOME_HINT = re.compile(r"[/'\"`]\.\w")
_SHOWN = re.compile(r"\b(?:print|puts|echo|say|console\.log|printf|log|p|pp|dump|var_dump)\b[\s(]")


def secrets_in_code(language: str, text: str) -> Iterator[Answer]:
    """Yield secrets that a program reads: those of a home folder, and those it sends."""
    if _HOME_HINT.search(text):
        yield from _home_secrets(language, text)
    yield from _secrets_shown(language, text)
    yield from _secrets_sent(language, text)


def _home_secrets(language: str, text: str) -> Iterator[Answer]:
    """Yield files that ask when read, named by the end of their path: `home + "/.netrc"`."""
    joined = (
        "/" + "/".join(part.strip("/") for part in _PART.findall(found["parts"]))
        for found in _JOINED.finditer(text)
    )
    for rest in (*(found["rest"] for found in _home_files(text)), *joined):
        if any(hit.code == "secret_read" for hit in reading(f"{_HOME}{rest}", _HOME)):
            yield ask("secret_read", f"{language} code reads the secret ~{rest}")
            return


def _home_files(text: str) -> Iterator[re.Match[str]]:
    for found in (
        *_LITERAL.finditer(text),
        *_TEMPLATE.finditer(text),
        *_INTERPOLATED.finditer(text),
    ):
        named = _HOME_FILE.match(found["path"])
        if named:
            yield named


def _secrets_shown(language: str, text: str) -> Iterator[Answer]:
    """Detect a secret of the environment that a program only prints."""
    if len(text) > _ONE_LINER or not _SHOWN.search(text):
        return
    name = next((name for name in _names(text) if is_secret_name(name)), "")
    if name and not SENDS.search(text):
        yield ask("secret_read", f"{language} code prints {name}")


_ONE_LINER = 200


def _secrets_sent(language: str, text: str) -> Iterator[Answer]:
    if not SENDS.search(text):
        return
    hosts = [found["host"] for found in _ADDRESS.finditer(text)]
    if hosts and all(map(_NEAR.fullmatch, hosts)):
        return
    what = _secret_in(text)
    if what:
        hit = ask("secret_sent", f"{language} code sends {what} to another host")
        # Whole programs use secrets and networks, mostly for different purposes.
        yield hit._replace(vague=len(text) > _SHORT and not _sends_at_once(text))


_SHORT = 1_000
_SENDING_CALL = re.compile(
    r"\b(?:post|put|patch|send\w*|request|urlopen|urlretrieve|fetch|get|write|Get|Post)\s*\(",
)


def _sends_at_once(text: str) -> bool:
    """Return whether one line has a secret and a sending call that is not only a login."""
    return any(
        len(line) <= _SHORT
        and _SENDING_CALL.search(_RECEIVED.sub(" ", line)) is not None
        and _secret_in(line) != ""
        for line in text.split("\n")
    )


_RECEIVED = re.compile(r"\b(?:environb?|env|ENV)\.(?:get|fetch)\b|\bgetenv\b")
"""Calls that read the environment, with names like sending calls."""


def _secret_in(text: str) -> str:
    if _ENVIRONMENT.search(text):
        return "the environment"
    for found in _LITERAL.finditer(text):
        path = found["path"]
        if "://" not in path and (named := _file(path)):
            return named
    for quoted in _SHELLED.findall(text):
        for word in quoted.split():
            if named := _file(word):
                return named
    return _variable_in(text)


_SHELLED = re.compile(r"`([^`\n]{1,200})`")


def _file(path: str) -> str:
    """Return a file with secrets named by a literal: by its name, not by a bare word."""
    if not path or ("/" not in path and "." not in path and not path.startswith("id_")):
        return ""
    absolute = (
        _HOME + path[1:] if path.startswith("~/") else path if path[0] == "/" else f"/-/{path}"
    )
    found = held(absolute, _HOME)
    return "" if found.startswith(ALL_OF) else found.removeprefix("/-/")


def _variable_in(text: str) -> str:
    """Return a secret of the environment used for more than a login."""
    used = _LOGS_IN.sub(" ", text)
    for found in _ASSIGNED.finditer(text):
        names = [name for name in _names(found["value"]) if is_secret_name(name)]
        if names and not re.search(rf"\b{re.escape(found['name'])}\b(?!\s*=[^=])", used):
            used = used.replace(found["value"], " ")
    return next((name for name in _names(used) if is_secret_name(name)), "")


def _names(text: str) -> list[str]:
    return [next(filter(None, found.groups())) for found in _VARIABLE.finditer(text)]
