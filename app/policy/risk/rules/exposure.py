"""Programs that expose this machine: tunnels, file servers, shares, shells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from app.policy.risk import floor
from app.policy.risk.call import UNKNOWN, Answer, CommandCall, RuleTable, ask, options, table
from app.policy.risk.paths import reading
from app.policy.risk.shapes import Rows, Shape, compiled, shaped, together

_WHY = "allows others to connect to this machine"
_LOOPBACK = r"(?:127\.[\d.]+|localhost|\[?::1\]?|unix:|lo\b)"
_EVERYWHERE = r"(?:0\.0\.0\.0|\[::\]|::(?:$|\s)|\*)"
_IS_LOOPBACK = re.compile(rf"(?:\w+://)?{_LOOPBACK}(?::\d+)?/?$")

_SERVICES = (
    r"(?:sshd?|telnet|vsftpd|pure-ftpd|proftpd|xrdp|smbd?|samba|nfs-(?:kernel-)?server|rpcbind|"
    r"vncserver\S*|x11vnc|remote-login|rsyncd?|tftpd?(?:-hpa)?)"
)
"""Services that accept connections."""

_TUNNELS: Rows = {
    "ngrok": (Shape(r"(?:http|tcp|tls|start|tunnel|service)\b"),),
    "cloudflared": (
        Shape(r"tunnel run\b"),
        Shape(having=r"^--(?:url|hello-world|unix-socket)(?:=|$)"),
    ),
    "bore": (Shape(r"local\b"),),
    "lt localtunnel": (Shape(having=r"^(?:-p|--port)"),),
    "tailscale": (
        Shape(
            r"(?:funnel|serve)\b(?! (?:status|reset|off|get-config)\b)(?!.* off$)",
            having=r"\S+\n\S+",
        ),
        Shape(r"share\b|drive share\b"),
        Shape(
            r"(?:up|set)\b",
            having=r"^--(?:ssh|advertise-(?:exit-node|routes|connector))(?!=false)(?:=|$)",
        ),
    ),
    "zrok": (Shape(r"(?:share|reserve)\b"),),
    "frpc rathole inlets pktriot playit loclx localxpose telebit pagekite pagekite.py": (
        Shape(unless=r"^(?:--?help|--?version|-v|verify|status|login|config|completion)$"),
    ),
    "loophole": (Shape(r"(?:http|path|webdav)\b"),),
    "expose": (Shape(r"share\b"),),
    "holesail": (Shape(having=r"^--live"),),
    "dumbpipe": (Shape(r"listen"),),
    "devtunnel": (Shape(r"(?:host|access create)\b"),),
    "chisel": (
        Shape(r"server\b", unless=rf"^(?:--host=)?{_LOOPBACK}"),
        Shape(r"client\b", having=r"^R:"),
    ),
    "gost": (Shape(having=r"^-L"),),
    "upnpc": (Shape(having=r"^-[ar]$"),),
    "gh": (Shape(r"(?:codespace|cs) ports visibility\b", having=r":(?:public|org)$"),),
    "code code-insiders cursor": (
        Shape(r"tunnel\b(?! (?:status|kill|prune|unregister|user|help)\b)", unless=r"^--help$"),
        Shape(r"serve-web\b", having=rf"^(?:--host=)?{_EVERYWHERE}|^--without-connection-token$"),
    ),
}
_TERMINALS: Rows = {
    "ttyd": (Shape(r".", unless=rf"^(?:(?:-i|--interface)=?)?{_LOOPBACK}"),),
    "gotty wetty": (Shape(unless=rf"{_LOOPBACK}|^--?(?:help|version)$"),),
    "shellinaboxd": (Shape(unless=r"^--?(?:localhost-only|help|version)$"),),
    "tmate": (Shape(unless=r"^-V$|^(?:ls|list-sessions|kill-server|kill-session)$"),),
    "upterm": (Shape(r"host\b"),),
    "sshx teleconsole": (Shape(unless=r"^--?(?:help|version)$"),),
    "code-server openvscode-server": (
        Shape(having=rf"^(?:--(?:bind-addr|host)=)?{_EVERYWHERE}"),
        Shape(having=r"^(?:--auth=)?none$|^--without-connection-token$"),
    ),
    "jupyter jupyter-lab jupyter-notebook jupyter-server": (
        Shape(
            having=rf"^--ip(?:=|\n){_EVERYWHERE}",
            also=r"token=(?:''|\"\")?$",
        ),
    ),
    "x11vnc": (
        Shape(unless=rf"^-localhost$|^-listen\n{_LOOPBACK}|^--?(?:help|version|V|storepasswd)$"),
    ),
    "vncserver tigervncserver Xvnc Xtigervnc x0vncserver x0tigervncserver": (
        Shape(having=r"^-localhost(?:=|\n)(?:no|0)$|^-+SecurityTypes(?:=|\n)None$"),
    ),
    "wayvnc": (Shape(having=_EVERYWHERE),),
    "grdctl": (Shape(r"(?:rdp|vnc) (?:enable|disable-view-only)\b"),),
    "krfb xrdp": (Shape(unless=r"^--?(?:help|version)$"),),
    "xhost": (Shape(having=r"(?i)^\+(?!local:|si:localuser)"),),
    "sshd dropbear telnetd in.telnetd vsftpd pure-ftpd proftpd": (
        Shape(unless=r"^-\w*[tTVG]|^--?(?:help|version)$"),
    ),
    "atftpd in.tftpd tftpd": (Shape(having=r"^(?:--daemon|-l|--listen|-L)$"),),
    "websocketd": (Shape(r".", unless=rf"^(?:--address=)?{_LOOPBACK}|^--(?:help|version)$"),),
    "socket": (Shape(having=r"^-\w*p", why="gives a program to the network"),),
    "ztcp": (Shape(r".", why="opens a network connection"),),
    "websocat": (Shape(having=r"(?:^|:)(?:sh-c|exec|cmd):"),),
    "tcpserver s6-tcpserver s6-tcpserver4 tcpsvd": (
        Shape(r"(?!127\.|localhost|::1)\S+ \d", valued="c t u g b l x X E"),
    ),
    "systemd-socket-activate": (Shape(having=rf"^(?:--listen=|-l)?(?!{_LOOPBACK})[\w.:\[\]]*\d$"),),
    "gdbserver": (Shape(having=r"^(?:0\.0\.0\.0|\*|\[::\])?:\d+$"),),
    "dlv": (
        Shape(
            having=rf"^(?:--listen=|-l)?(?::\d+|{_EVERYWHERE})",
            unless=r"^(?:connect|version|help)$",
        ),
    ),
    "lldb-server": (Shape(having=rf"{_EVERYWHERE}:"),),
    "node nodejs bun deno tsx": (Shape(having=rf"^--inspect(?:-brk|-wait|-port)?={_EVERYWHERE}"),),
    "java": (Shape(having=rf"^-agentlib:jdwp=.*address={_EVERYWHERE}"),),
    "chrome google-chrome chromium chromium-browser": (
        Shape(having=rf"^--remote-debugging-address={_EVERYWHERE}"),
    ),
    "adb": (Shape(having=r"^-a$"), Shape(r"tcpip\b")),
    "fzf": (Shape(having=rf"^--listen-unsafe|^--listen=(?:{_EVERYWHERE})"),),
    "service rc-service": (Shape(rf"{_SERVICES} (?:start|restart)\b"),),
    "systemctl": (
        Shape(
            r"(?:start|restart|reload-or-restart|enable) (?:\S+ )*"
            rf"{_SERVICES}(?:\.service|\.socket)?(?: |$)",
        ),
    ),
    "systemsetup": (Shape(having=r"^-f?$|^-setremote(?:login|appleevents)$", unless=r"(?i)^off$"),),
    "winrm": (Shape(r"(?i)(?:quickconfig|qc|set|create)\b"),),
    "add-windowscapability": (Shape(having=r"(?i)OpenSSH\.Server"),),
}
_SHARES: Rows = {
    "exportfs": (Shape(having=r"^-\w*[ao]|\S:/"),),
    "net": (Shape(r"usershare add\b|rpc share add\b"),),
    "sharing": (Shape(having=r"^-a$"),),
    "new-smbshare grant-smbshareaccess": (Shape(),),
    "rsync": (Shape(having=r"^--daemon$", unless=rf"^--address=?\n?{_LOOPBACK}"),),
    "git": (Shape(r"daemon\b", unless=rf"^--(?:listen=|help$|inetd$){_LOOPBACK}?"),),
    "svnserve": (Shape(having=r"^-\w*d|^--daemon$", unless=rf"{_LOOPBACK}"),),
    "dockerd docker": (
        Shape(
            having=rf"^(?:(?:-H|--host)=?)?tcp://(?!{_LOOPBACK})",
            unless=r"^--tls(?:verify)?(?:=true)?$|^(?!-|daemon$|dockerd$)[a-z]+$",
            why="accepts commands for the container engine from the network",
        ),
    ),
    "podman": (Shape(r"system service\b", having=rf"^tcp:(?://)?(?!{_LOOPBACK})"),),
    "kubectl oc k": (
        Shape(r"port-forward\b", having=rf"^(?:--address=)?{_EVERYWHERE}", valued="n -namespace"),
        Shape(r"proxy\b", having=rf"^(?:--address=)?{_EVERYWHERE}|^--accept-hosts"),
    ),
    "mongod": (
        Shape(
            having=rf"^--bind_ip_all$|^--bind_ip(?:=|\n)\S*{_EVERYWHERE}",
            unless=r"^--auth$|^--(?:keyFile|clusterAuthMode)|^(?:-f|--config)",
        ),
    ),
    "redis-server valkey-server": (
        Shape(having=r"^--protected-mode(?:=|\n)no$"),
        Shape(having=rf"^--bind(?:=|\n){_EVERYWHERE}", unless=r"^--(?:requirepass|aclfile)"),
    ),
    "memcached": (
        Shape(
            having=rf"^(?:-l|--listen=?)\n?{_EVERYWHERE}",
            unless=r"^(?:-S|-Y|--auth-file|--enable-sasl)",
        ),
    ),
    "vault bao": (Shape(r"server\b", having=rf"^-+dev-listen-address(?:=|\n){_EVERYWHERE}"),),
    "rclone": (
        Shape(
            r"serve\b",
            having=rf"^(?:--addr(?:=|$)\n?)?(?::\d+|{_EVERYWHERE})",
            unless=r"^--(?:user|htpasswd|auth-key)",
        ),
    ),
}


class FileServer(NamedTuple):
    """Options of a file server for its folder and address.

    Attributes:
        folders: options with the folder.
        binds: options with the address; without one it listens everywhere.
        operand: index of an operand with the folder, or None.
        near: by default it listens only on this machine.
    """

    folders: str = ""
    binds: str = ""
    operand: int | None = None
    near: bool = False
    valued: str = ""


_SERVERS: dict[str, FileServer] = {
    "http.server": FileServer("d -directory", "b -bind", valued="p -protocol"),
    "SimpleHTTPServer": FileServer(),
    "uploadserver": FileServer("d -directory", "b -bind"),
    "pyftpdlib": FileServer("d -directory", "i -interface", valued="p -port"),
    "updog": FileServer("d -directory", "", valued="p -port"),
    "httpd": FileServer("h", "p", valued="c u r"),
    "ruby-httpd": FileServer("-root", "-bind-address b", operand=0, valued="p -port"),
    "php": FileServer("t", "S", valued="c d"),
    "serve": FileServer("", "l L -listen", operand=0, valued="p c -config"),
    "http-server": FileServer("", "a", operand=0, valued="p c P -proxy"),
    "live-server": FileServer("", "-host", operand=0, valued="-port"),
    "caddy": FileServer("-root r", "-listen l", valued="-domain d"),
    "darkhttpd": FileServer("", "-addr", operand=0, valued="-port"),
    "webfsd": FileServer("r", "i", valued="p"),
    "thttpd": FileServer("d", "h", valued="p C u"),
    "mini_httpd": FileServer("d", "h", valued="p C u"),
    "miniserve": FileServer("", "i -interfaces", operand=0, valued="p -port"),
    "dufs": FileServer("", "b -bind", operand=0, valued="p -port"),
    "simple-http-server": FileServer("", "-ip", operand=0, valued="p -port"),
    "sfz": FileServer("", "b -bind", operand=0, near=True, valued="p -port"),
    "filebrowser": FileServer("r -root", "a -address", near=True, valued="p -port d -database"),
    "gossa": FileServer("", "h", operand=0, near=True, valued="p"),
    "goshs": FileServer("d -dir", "i", valued="p"),
    "wsgidav": FileServer("r -root", "H -host", near=True, valued="p -port"),
    "devd": FileServer("", "A -address", operand=0, near=True, valued="p"),
    "twistd": FileServer("-path", "-listen"),
    "rclone": FileServer("", "-addr", operand=2, near=True),
    "copyparty": FileServer("v", "i"),
}
_PYTHON_SERVERS = frozenset(["http.server", "SimpleHTTPServer", "uploadserver", "pyftpdlib"])


def _serves(call: CommandCall, name: str, args: list[str]) -> Iterator[Answer]:
    """Ask about a file server that serves a whole home or secrets."""
    spec = _SERVERS[name]
    given = options(args, f"{spec.folders} {spec.binds} {spec.valued}")
    binds = given.all_values(*("-" + one for one in spec.binds.split()))
    if (binds and all(map(_IS_LOOPBACK.match, binds))) or (spec.near and not binds):
        return
    named = given.all_values(*("-" + one for one in spec.folders.split()))
    if spec.operand is not None:
        named += given.rest[spec.operand : spec.operand + 1]
    for folder in named or ["."]:
        path = call.at(folder.partition("::")[0])
        if UNKNOWN not in path and _is_wide(path, call.home):
            yield ask("exposed", f"{call.name} exposes the files of {path} to the network")


def _is_wide(path: str, home: str) -> bool:
    return (
        floor.is_catastrophic(path, home)
        or home.startswith(f"{path.rstrip('/')}/")
        or any(True for _ in reading(path, home))
        or any(True for _ in reading(f"{path.rstrip('/')}/credentials", home))
    )


def _server(call: CommandCall) -> Iterator[Answer]:
    yield from _serves(call, call.name, call.args)


def _verb_server(call: CommandCall) -> Iterator[Answer]:
    """Handle `caddy file-server`, `rclone serve`, `twistd web`."""
    if {"file-server", "serve", "web", "ftp"} & set(call.args[:2]):
        yield from _serves(call, call.name, call.args)


def _python(call: CommandCall) -> Iterator[Answer]:
    for at, word in enumerate(call.args[:-1]):
        module = call.args[at + 1] if word == "-m" else ""
        if module in _PYTHON_SERVERS:
            yield from _serves(call, module, call.args[at + 2 :])
        elif module == "debugpy" and compiled(r"^(?:0\.0\.0\.0|\*)").search("\n".join(call.args)):
            yield ask("exposed", f"{call.name} allows others to debug a program")


def _ruby(call: CommandCall) -> Iterator[Answer]:
    """Handle `ruby -run -e httpd folder`."""
    at = next((at for at, word in enumerate(call.args) if word in {"httpd", "-ehttpd"}), -1)
    if "-run" in call.args and at >= 0:
        yield from _serves(call, "ruby-httpd", call.args[at + 1 :])


def _httpd(call: CommandCall) -> Iterator[Answer]:
    """Handle BusyBox's server; Apache's has the same name and other options."""
    if any(arg.startswith("-h") for arg in call.args):
        yield from _serves(call, "httpd", call.args)


def _php(call: CommandCall) -> Iterator[Answer]:
    if any(arg.startswith("-S") for arg in call.args):
        yield from _serves(call, "php", call.args)


_SSH = "b c D e F I i J L l m O o p Q R S W w B E P"
_OPEN_FORWARD = re.compile(rf"(?:{_EVERYWHERE}|:):?\d*:|{_EVERYWHERE}:\d+$|:\d+$")


def _ssh(call: CommandCall) -> Iterator[Answer]:
    """Ask about port forwarding from another host, or to this host's network."""
    valued = f"{_SSH} M" if call.name == "autossh" else _SSH
    given = options(call.args, valued, stop=True)
    settings = [value.lower().replace(" ", "=") for value in given.all_values("-o")]
    if given.all_values("-R") or any(value.startswith("remoteforward=") for value in settings):
        yield ask("exposed", f"{call.name} opens a connection from another host to this machine")
    forwards = given.all_values("-L", "-D")
    if forwards and (
        given.has("-g") or "gatewayports=yes" in settings or any(map(_OPEN_FORWARD.match, forwards))
    ):
        yield ask("exposed", f"{call.name} allows others to use a connection of this machine")


_LISTENS = re.compile(r"(?:tcp|ssl|openssl|udp|sctp|vsock)\d?-(?:l|listen)\b", re.IGNORECASE)


_STREAMS = frozenset(["-", "STDIO", "STDOUT", "STDIN"])


def _socat(call: CommandCall) -> Iterator[Answer]:
    if not _STREAMS.isdisjoint(arg.upper() for arg in call.args):
        return  # It only receives data.
    for arg in call.args:
        if _LISTENS.match(arg) and not compiled(rf"bind={_LOOPBACK}").search(arg):
            yield ask("exposed", "socat allows others to connect to its target")
            return


RULES: RuleTable = together(
    shaped("exposed", _WHY, _TUNNELS, _TERMINALS, _SHARES),
    table(
        "serve http-server live-server darkhttpd webfsd thttpd mini_httpd miniserve dufs "
        "simple-http-server sfz filebrowser gossa goshs wsgidav devd updog copyparty",
        _server,
    ),
    table("caddy rclone twistd", _verb_server),
    table("python python2 python3 py pypy pypy3", _python),
    table("httpd", _httpd),
    table("ruby", _ruby),
    table("php", _php),
    table("ssh autossh slogin", _ssh),
    table("socat", _socat),
)
