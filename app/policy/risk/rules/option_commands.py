"""Options that contain a command: one row per program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from app.policy.risk.call import (
    UNKNOWN,
    UNTOLD,
    Answer,
    CommandCall,
    RuleTable,
    ask,
    options,
    run,
    script,
    table,
)
from app.policy.risk.flow import sent_on
from app.policy.risk.shapes import compiled, together


class Commands(NamedTuple):
    """Options of a program that contain a command.

    Attributes:
        options: their names without the first dash; the value of each is a command.
        language: language of the command.
        valued: other options that take a word.
        clusters: False: one dash is equivalent to two.
        settings: options of the form `-o name=value`.
        keys: pattern of names in `settings` whose value is a command.
        fed: the command reads the program's input.
        typed: the command runs in a separate terminal, or reads typed input.
    """

    options: str = ""
    language: str = "shell"
    valued: str = ""
    clusters: bool = True
    settings: str = ""
    keys: str = ""
    fed: bool = False
    typed: bool = False


_TABLE: dict[str, Commands] = {
    # Search, text and files.
    "rg": Commands("-pre -hostname-bin", valued="e f g t A B C m -pre-glob -glob -type"),
    "ag ack": Commands("-pager", valued="A B C G g"),
    "bat batcat delta": Commands("-pager", valued="l H r"),
    "sort gsort": Commands("-compress-program", valued="k t o S T -key -output"),
    "split gsplit": Commands("-filter", valued="b l n a", fed=True),
    "sdiff diff3": Commands("-diff-program"),
    "man": Commands("P H -pager -html", valued="p L m M S e E"),
    "nano pico": Commands("s -speller", valued="T o r -operatingdir"),
    "enscript": Commands("-filter I"),
    "zip": Commands("TT -unzip-command", valued="x i n b t tt", clusters=False),
    "dar": Commands("E F ="),
    "star": Commands("compress-program rsh", clusters=False),
    # Copies and stores.
    "restic": Commands(
        "-password-command",
        valued="r p",
        settings="o -option",
        keys=r"sftp\.command|rclone\.program",
    ),
    "rclone": Commands("-password-command -sftp-ssh -metadata-mapper"),
    "borg borg1 borg2": Commands("-rsh -remote-path", valued="r"),
    "rdiff-backup": Commands("-remote-schema"),
    "unison": Commands("sshcmd rshcmd diff editor", clusters=False),
    "duplicity": Commands("-gpg-binary -par2-options"),
    "sshfs": Commands(settings="o", keys=r"ssh_command|proxycommand|localcommand|sftp_server"),
    "sshuttle": Commands("e -ssh-cmd", valued="r x l"),
    "mosh": Commands("-ssh -server -client", valued="p"),
    "cpio": Commands("-rsh-command"),
    # Networks.
    "tcpdump": Commands("z", valued="i w r s c G W C"),
    "openvpn": Commands(
        "up down ipchange route-up route-pre-down client-connect client-disconnect tls-verify "
        "auth-user-pass-verify learn-address",
        clusters=False,
    ),
    "openconnect": Commands("s -script -csd-wrapper -csd-user-wrapper", valued="u"),
    "vpnc": Commands("-script"),
    "dhclient": Commands("sf", clusters=False),
    "dhcpcd": Commands("c -script"),
    "udhcpc": Commands("s -script", valued="i"),
    "wpa_cli": Commands("a", valued="i p"),
    "aria2c": Commands(
        "-on-download-complete -on-download-start -on-download-stop -on-download-error "
        "-on-download-pause -on-bt-download-complete"
    ),
    "certbot": Commands(
        "-pre-hook -post-hook -deploy-hook -renew-hook -manual-auth-hook -manual-cleanup-hook"
    ),
    "acme.sh": Commands(
        "-reloadcmd -pre-hook -post-hook -renew-hook -deploy-hook", valued="d w -install-cert"
    ),
    "lego": Commands("-renew-hook -run-hook"),
    "fetchmail": Commands("-mda -plugin -plugout -preconnect -postconnect -bsmtp", valued="m"),
    "msmtp": Commands("-passwordeval"),
    "dnsmasq": Commands("-conf-script -dhcp-script"),
    "check_by_ssh": Commands(settings="o", keys=r"proxycommand|localcommand", valued="H C l i p"),
    "check_ssl_cert": Commands("-grep-bin -openssl -curl-bin -file-bin -nmap-bin", valued="H p"),
    "yt-dlp youtube-dl": Commands(
        "-exec -exec-before-download -netrc-cmd", valued="o f a P -output -format"
    ),
    "gpg gpg2": Commands("-photo-viewer -agent-program -dirmngr-program -keyboxd-program"),
    # Version control.
    "svn": Commands(
        "-diff-cmd -diff3-cmd -editor-cmd",
        valued="r m",
        settings="-config-option",
        keys=r"(?:config:tunnels|config:helpers):.*",
    ),
    "hg chg": Commands(
        "e -ssh -remotecmd",
        valued="R r m u",
        settings="-config",
        keys=r"(?:alias|hooks)\..*|ui\.(?:ssh|editor|merge)|pager\.pager|"
        r"merge-tools\..*\.executable|"
        r"extdiff\..*|diff-tools\..*",
    ),
    # Building and testing.
    "go": Commands("toolexec exec vettool", clusters=False),
    "rustc": Commands(settings="C -codegen", keys="linker"),
    "bazel bazelisk": Commands("-run_under -workspace_status_command", clusters=True),
    "meson": Commands("-wrap", valued="C"),
    "cmake": Commands(
        settings="D", keys=r"CMAKE_\w*(?:LAUNCHER|MAKE_PROGRAM|EMULATOR|LINKER)(?::\w+)?"
    ),
    "tsc-watch": Commands("-onSuccess -onFailure -onFirstSuccess -onEmit -onCompilationComplete"),
    "chokidar": Commands("c -command"),
    "pylint": Commands("-init-hook", language="python"),
    "tox": Commands(settings="x -override", keys=r".*commands(?:_pre|_post)?"),
    "blender": Commands("-python-expr", language="python", clusters=False),
    "exiftool": Commands("if", language="perl", clusters=False),
    "rake": Commands("e p E -execute -execute-print -execute-continue", language="ruby"),
    "knife": Commands("E -exec", language="ruby"),
    "dpkg": Commands("-pre-invoke -post-invoke -status-logger"),
    "dpkg-buildpackage debuild": Commands("p -sign-command -hook-init -hook-preclean -hook-done"),
    "pandoc": Commands("-pdf-engine"),
    "latexmk": Commands(
        "pdflatex latex xelatex lualatex dvips dvipdf ps2pdf pdfxe", clusters=False
    ),
    "pip pip3": Commands("-editor"),
    "perlbug": Commands("e", valued="s r c t"),
    "zic": Commands("y", valued="d l L p b"),
    "dmsetup": Commands("-exec"),
    "genie": Commands("c -command", typed=True),
    "plymouth": Commands("-command", valued="-prompt"),
    "logrotate": Commands("m -mail", valued="s l"),
    "helm helm3": Commands("-post-renderer", valued="n f"),
    "ansible ansible-playbook": Commands("-become-exe", valued="i a m e l u"),
    # Screens, windows and media.
    "scrot": Commands("e -exec", valued="d q t"),
    "tmate tmux": Commands("c", valued="L S f", typed=True),
    "asciinema": Commands("c -command", valued="t i", typed=True),
    "ttyrec": Commands("e", typed=True),
    "termtosvg": Commands("c -command", typed=True),
    "feh": Commands("A -action -action1 -action2 -action3"),
    "rofi": Commands("run-command run-shell-command window-command", clusters=False),
    "mocp": Commands(settings="O -set-option", keys="OnSongChange|OnStop"),
    "yad": Commands("-command"),
    # Servers and databases.
    "postgres postmaster": Commands(settings="c", keys=r"\w+_command", valued="D p k"),
    "uwsgi": Commands(
        "-exec-asap -exec-pre-jail -exec-post-jail -exec-in-jail -exec-as-root -exec-as-user "
        "-exec-pre-app -exec-post-app -attach-daemon"
    ),
    "chrome google-chrome chromium chromium-browser": Commands(
        "-renderer-cmd-prefix -utility-cmd-prefix -gpu-launcher -ppapi-plugin-launcher "
        "-browser-subprocess-path"
    ),
    "sqlmap": Commands("-eval", language="python"),
    "dtrace": Commands("c", valued="n p s", typed=True),
    "systemtap stap": Commands("c", valued="e x", typed=True),
}
_ROWS = {name: row for listed, row in _TABLE.items() for name in listed.split()}


def _held(call: CommandCall) -> Iterator[Answer]:
    row = _ROWS[call.name]
    listed = f"{row.options} {row.settings}".split()
    valued = f"{row.valued} {' '.join(listed)}"
    if not row.clusters:
        valued += " " + " ".join(f"-{name}" for name in listed)
    given = options(call.args, valued, clusters=row.clusters)
    fed = call.stdin if row.typed else sent_on(call) if row.fed else UNTOLD
    for name in row.options.split():
        names = (f"-{name}",) if row.clusters else (f"-{name}", f"--{name}")
        for text in given.all_values(*names):
            yield script(text, row.language, stdin=fed)
    for name in row.settings.split():
        for setting in given.all_values(f"-{name}", f"--{name}"):
            for one in setting.split(",") if call.name == "sshfs" else [setting]:
                yield from _set(row, one)


def _set(row: Commands, setting: str) -> Iterator[Answer]:
    key, _, text = re.sub(r"[\s=]+", "=", setting.strip(), count=1).partition("=")
    if text and re.fullmatch(row.keys, key.strip(), re.IGNORECASE):
        yield script(text.strip().removeprefix("!"), row.language, stdin=UNTOLD)


_LIBRARIES = {
    "openssl": (("-engine", "--engine", "-provider-path", "-provider_path"), False),
    "curl": (("--engine",), True),
    "ssh-keygen": (("-D",), True),
    "ssh-add": (("-s",), True),
    "ssh": (("-I",), True),
}
"""Options that load a library, and whether their program allows clusters."""


def _library(call: CommandCall) -> Iterator[Answer]:
    flags, clusters = _LIBRARIES[call.name]
    valued = " ".join(flag.removeprefix("-") for flag in flags)
    for path in options(call.args, valued, clusters=clusters, stop=call.name == "ssh").all_values(
        *flags
    ):
        if "/" in path:
            yield ask("loaded_code", f"{call.name} loads the library {path}")


_ON_ERROR = re.compile(r"-XX:On(?:OutOfMemory)?Error=(.*)", re.DOTALL)


def _java(call: CommandCall) -> Iterator[Answer]:
    for word in call.args:
        if found := _ON_ERROR.match(word):
            yield script(found.group(1))


def _daemon(call: CommandCall) -> Iterator[Answer]:
    """Handle `start-stop-daemon --start --exec program -- words`."""
    given = options(call.args, "x p u c n a g d P r k -exec -startas -pidfile -user -chuid -name")
    if given.has("-K", "--stop", "-T", "--status", "-H", "--help"):
        return
    words = call.args[call.args.index("--") + 1 :] if "--" in call.args else given.rest
    for program in given.all_values("-x", "--exec", "-a", "--startas"):
        if not program.startswith("-"):
            yield run([program, *words])


_UNIX_EXEC = re.compile(r"unixexec:([^;]*)")


def _bus(call: CommandCall) -> Iterator[Answer]:
    """Handle `busctl --address=unixexec:path=/bin/sh,argv1=-c,…`: the transport is a program."""
    for word in call.args:
        for address in _UNIX_EXEC.findall(word):
            parts = dict(piece.partition("=")[::2] for piece in address.split(","))
            words = [parts.get("path", UNKNOWN)]
            words += [parts[f"argv{at}"] for at in range(1, 20) if f"argv{at}" in parts]
            yield run(words)


_CMAKE_RUNS = re.compile(
    r"\b(?:execute_process|exec_program|cmake_language)\b|"
    r"\bfile\s*\(\s*(?:REMOVE|REMOVE_RECURSE|RENAME|WRITE|APPEND|COPY|DOWNLOAD|INSTALL|CHMOD)\b",
    re.IGNORECASE,
)


def _cmake(call: CommandCall) -> Iterator[Answer]:
    """Handle `cmake -P script`: a program, if its text is known."""
    for path in options(call.args, "P D").all_values("-P"):
        if path.startswith(("/dev/", "/proc/")):
            text = call.written(path)
            if text is None or _CMAKE_RUNS.search(text):
                yield ask("code_danger", "the CMake script may run commands or delete files")
    if call.args[:2] == ["-E", "chdir"]:
        yield run(call.args[3:], moves=call.args[2] if call.args[2:] else None)


def _package_scripts(call: CommandCall) -> Iterator[Answer]:
    """Handle `npm pkg set scripts.x=command`, `composer config scripts.x command`."""
    words = options(call.args, "w -workspace -prefix C").rest
    if words[:2] == ["pkg", "set"]:
        for word in words[2:]:
            key, _, text = word.partition("=")
            if key.startswith(("scripts.", "scripts[")):
                yield script(text.strip('"'))
    elif words[:1] == ["set-script"] and words[2:]:
        yield script(words[2])
    elif words[:1] == ["config"] and words[1:2] and words[1].startswith("scripts."):
        yield script(" ".join(words[2:]))


_MAIL_RUNS = re.compile(
    r"(?:^|[;\n\"'>])\s*(?:source\s+[\"']?([^|\n]{1,500})\|[\"']?\s*(?:$|;)|"
    r"[^!\n]{0,200}!\s*([^\"'<\n]+))|`([^`]+)`"
)


_MAIL_PROGRAM = re.compile(
    r"\bset\s+(?:\w*command|sendmail|shell|editor|visual|inews|ispell|display_filter)\s*=\s*"
    r"(?:\"([^\"]*)\"|'([^']*)'|(\S+))"
)


def _mail_reader(call: CommandCall) -> Iterator[Answer]:
    """Handle `mutt -e command`: `source "command|"`, backticks, `push "!command\\n"`."""
    for text in options(call.args, "e F f s a c b i H Q").all_values("-e"):
        for found in (*_MAIL_PROGRAM.finditer(text), *_MAIL_RUNS.finditer(text)):
            yield script(next(filter(None, found.groups()), ""))


_PIPE = re.compile(r"%pipe%(.+)", re.DOTALL)


def _ghostscript(call: CommandCall) -> Iterator[Answer]:
    for word in call.args:
        if found := _PIPE.search(word):
            yield script(found.group(1))


def _sound(call: CommandCall) -> Iterator[Answer]:
    """Handle SoX: a file name that starts with a pipe character is a command."""
    for word in call.args:
        if word.startswith("|"):
            yield script(word[1:])


_EXIM_RUNS = re.compile(r"\$\{run\{([^}]*)\}")


def _exim(call: CommandCall) -> Iterator[Answer]:
    for word in call.args:
        for text in _EXIM_RUNS.findall(word):
            yield script(text)


def _window_manager(call: CommandCall) -> Iterator[Answer]:
    """Handle `swaymsg exec command`, `hyprctl dispatch exec command`, `herbstclient spawn
    command`.
    """
    for at, word in enumerate(call.args):
        if word in {"exec", "spawn"} or word.startswith("exec "):
            text = word.partition(" ")[2]
            yield script(" ".join([*([text] if text else []), *call.args[at + 1 :]]).lstrip("- "))
            return


def _squashed(call: CommandCall) -> Iterator[Answer]:
    """Handle `mksquashfs … -p "name f mode uid gid command"`: a file filled by a command."""
    for text in options(call.args, "p pf", clusters=False).all_values("-p"):
        words = text.split(None, 5)
        if len(words) == 6 and words[1] in {"f", "F"}:
            yield script(words[5])


def _editor_with_shell(call: CommandCall) -> Iterator[Answer]:
    """Handle editors and file managers with shell commands after `!`."""
    given = options(call.args, "c e x cmd command -cmd -command", clusters=call.name != "lf")
    for text in given.all_values("-c", "-e", "-x", "--cmd", "-cmd", "-command", "--command"):
        if found := re.search(r"(?:!|\bshell\s|\$|%sh\{|exec\s+)\s*([^}]+)", text):
            yield script(found.group(1).lstrip("- "))
    for word in call.args:
        if word.startswith("+!"):
            yield script(word[2:])


def _network_script(call: CommandCall) -> Iterator[Answer]:
    """Handle `nmap --script file`, `wrk -s file`: a program written by this script."""
    for path in options(call.args, "-script s", clusters=False).all_values(
        "--script", "-script", "-s"
    ):
        if call.was_written(path) or path.startswith("/dev/"):
            text = call.written(path)
            yield (
                script(text, "lua")
                if text
                else ask("opaque_code", "runs a program that is not known")
            )


def _modem(call: CommandCall) -> Iterator[Answer]:
    """Handle `pppd connect command`, `pppd pty command`."""
    for at, word in enumerate(call.args[:-1]):
        if word in {"connect", "disconnect", "pty", "init", "welcome"}:
            yield script(call.args[at + 1])


def _virtual_machine(call: CommandCall) -> Iterator[Answer]:
    for word in call.args:
        for path in compiled(r"\b(?:down)?script=([^,]+)").findall(word):
            if path != "no":
                yield script(path)


RULES: RuleTable = together(
    dict.fromkeys(_ROWS, _held),
    table("busctl systemctl dbus-send gdbus", _bus),
    table("cmake", _cmake),
    table("npm pnpm yarn composer", _package_scripts),
    table("mutt neomutt", _mail_reader),
    table("gs ghostscript ps2pdf ps2ascii pdf2ps eps2pdf gsx gsnd", _ghostscript),
    table("sox play rec soxi", _sound),
    table("exim exim4", _exim),
    table("i3-msg swaymsg hyprctl herbstclient niri riverctl", _window_manager),
    table("mksquashfs", _squashed),
    table("kak vifm lf ranger newsboat joe ne nnn dosbox", _editor_with_shell),
    table("nmap wrk", _network_script),
    table("pppd", _modem),
    table("java", _java),
    table(" ".join(_LIBRARIES), _library),
    table("start-stop-daemon", _daemon),
    table("qemu-system-x86_64 qemu-system-aarch64 qemu-system-i386 kvm qemu", _virtual_machine),
)
