"""Commands that run the command in their arguments, as a table of option grammars."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.policy.risk.call import (
    Answer,
    CommandCall,
    Rule,
    RuleTable,
    ask,
    names,
    options,
    run,
    script,
)
from app.policy.risk.env_words import env


@dataclass(frozen=True, slots=True)
class Wrapper:
    """`valued` options take a word; `skip` operands come before the command.

    `code` options contain a shell script; `assigns`: NAME=value words come before the command;
    `joined`: the words are joined and parsed by a shell; `needs` must be the first operand;
    `lookup` options only look the command up; `dashes`: a `--` after other words starts it; `moves`
    options contain a directory.
    """

    valued: str = ""
    skip: int = 0
    code: str = ""
    assigns: bool = False
    joined: bool = False
    needs: str = ""
    lookup: str = ""
    moves: str = ""
    contained: bool = False
    dashes: bool = False


_WRAPPERS: dict[str, Wrapper] = {
    "sudo": Wrapper(
        "u g h p C D R r t T U -user -group -host -prompt -chdir -chroot -role -type "
        "-close-from -command-timeout -other-user",
        assigns=True,
        lookup="l v V K -list -validate",
        moves="D -chdir",
    ),
    "doas": Wrapper("u C a", lookup="L"),
    "nice": Wrapper("n -adjustment"),
    "ionice": Wrapper("c n p P u -class -classdata -pid"),
    "timeout": Wrapper("k s -kill-after -signal", skip=1),
    "gtimeout": Wrapper("k s -kill-after -signal", skip=1),
    "time": Wrapper("f o -format -output"),
    "gtime": Wrapper("f o -format -output"),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "stdbuf": Wrapper("i o e -input -output -error"),
    "command": Wrapper(lookup="v V"),
    "builtin": Wrapper(),
    "exec": Wrapper("a"),
    "coproc": Wrapper(),
    "noglob": Wrapper(),
    "nocorrect": Wrapper(),
    "strace": Wrapper("a e E I O o p P s S u U X -trace -output -attach"),
    "ltrace": Wrapper("a A D e F l n o p s u w x X"),
    "flock": Wrapper(
        "E w c -conflict-exit-code -timeout -wait -command", skip=1, code="c -command"
    ),
    "chroot": Wrapper(skip=1, contained=False),
    "unshare": Wrapper(
        "S G R w -setuid -setgid -root -wd -map-user -map-group -map-users -map-groups"
    ),
    "nsenter": Wrapper("t S G W -target -setuid -setgid"),
    "systemd-run": Wrapper(
        "H M p u E -host -machine -property -unit -slice -description -uid -gid -nice "
        "-setenv -on-active -on-boot -on-calendar -timer-property -working-directory -service-type"
    ),
    "systemd-inhibit": Wrapper("-what -who -why -mode"),
    "runuser": Wrapper(
        "u g G s c w -user -group -command -shell -session-command -whitelist-environment",
        code="c -command -session-command",
    ),
    "su": Wrapper(
        "c g G s w -command -group -shell -session-command -whitelist-environment",
        code="c -command -session-command",
        skip=-1,
    ),
    "sg": Wrapper("c", code="c", skip=1, joined=True),
    "script": Wrapper("c o I O B T t E m -command -log-out", code="c -command", skip=1),
    "sshpass": Wrapper("p f d P"),
    "catchsegv": Wrapper(),
    "lerna": Wrapper("-scope -ignore -concurrency", needs="exec", dashes=True),
    **dict.fromkeys(
        names("ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1"),
        Wrapper("-library-path -preload -audit -argv0 -inhibit-rpath", lookup="-list -verify"),
    ),
    **dict.fromkeys(names("qemu-x86_64 qemu-aarch64 qemu-i386 qemu-arm"), Wrapper("L E U cpu B s")),
    "shx": Wrapper(),
    "watchexec": Wrapper(
        "e w i f d s o -exts -watch -ignore -filter -shell -debounce", joined=True
    ),
    "nsjail": Wrapper("c u g -chroot"),
    "ccache": Wrapper(lookup="s C z V"),
    "sccache": Wrapper(),
    "distcc": Wrapper(),
    "bear": Wrapper("-output o"),
    "scan-build": Wrapper("o"),
    "rr": Wrapper(needs="record"),
    "heaptrack": Wrapper(),
    "cgexec": Wrapper("g"),
    "trickle": Wrapper("u d w t l n"),
    "apptainer": Wrapper("B H -bind", needs="exec", skip=1),
    "singularity": Wrapper("B H -bind", needs="exec", skip=1),
    "envdir": Wrapper(skip=1),
    "envchain": Wrapper(skip=1),
    "chamber": Wrapper(needs="exec", dashes=True),
    "sops": Wrapper(needs="exec-env", skip=1, joined=True),
    "teller": Wrapper(needs="run"),
    "infisical": Wrapper(needs="run"),
    "watch": Wrapper("n -interval q", joined=True),
    "busybox": Wrapper(lookup="-list -install"),
    "toybox": Wrapper(),
    "caffeinate": Wrapper("t w"),
    "chrt": Wrapper("T P D p", skip=1, lookup="p"),
    "taskset": Wrapper("p", skip=1, lookup="p"),
    **dict.fromkeys(("setarch", "linux32", "linux64", "i386", "x86_64"), Wrapper()),
    "numactl": Wrapper("C N m i p -cpunodebind -membind -physcpubind -interleave -preferred"),
    "prlimit": Wrapper("p o"),
    "cpulimit": Wrapper("l p e -limit -pid -exe"),
    "firejail": Wrapper(),
    "fakeroot": Wrapper("l s i b"),
    "eatmydata": Wrapper(),
    "proot": Wrapper("r b q w R S"),
    "dbus-run-session": Wrapper(),
    "dbus-launch": Wrapper(),
    "xvfb-run": Wrapper("n s e f p w -server-num -server-args -error-file"),
    "unbuffer": Wrapper(),
    "rlwrap": Wrapper("a b f H l p P q s S t w z"),
    "valgrind": Wrapper(),
    "torsocks": Wrapper(),
    "torify": Wrapper(),
    "proxychains": Wrapper("f"),
    "proxychains4": Wrapper("f"),
    "faketime": Wrapper(skip=1),
    "direnv": Wrapper(skip=1, needs="exec"),
    "poetry": Wrapper(needs="run"),
    "pipenv": Wrapper(needs="run"),
    "hatch": Wrapper(needs="run"),
    "pdm": Wrapper(needs="run"),
    "rye": Wrapper(needs="run"),
    "conda": Wrapper("n p -name -prefix -cwd", needs="run"),
    "mamba": Wrapper("n p -name -prefix", needs="run"),
    "micromamba": Wrapper("n p -name -prefix", needs="run"),
    "uv": Wrapper(
        "p -python -with -extra -group -env-file -project -directory -with-requirements m -module",
        needs="run",
    ),
    "bundle": Wrapper(needs="exec"),
    "rbenv": Wrapper(needs="exec"),
    "pyenv": Wrapper(needs="exec"),
    "asdf": Wrapper(needs="exec"),
    "grc": Wrapper("c"),
    "xdotool": Wrapper("-args", needs="exec"),
    "mise": Wrapper("c -command", needs="exec", code="c -command", dashes=True),
    "doppler": Wrapper("p c -project -config -command", needs="run", code="-command"),
    "op": Wrapper("-env-file -account", needs="run", dashes=True),
    "aws-vault": Wrapper("d -duration", needs="exec", skip=1),
    "dotenv": Wrapper("e f c", dashes=True),
    **dict.fromkeys(("foreman", "honcho", "volta", "pixi"), Wrapper("f e -file -env", needs="run")),
    "fnm": Wrapper("-using", needs="exec", dashes=True),
    "nvm": Wrapper(needs="exec", skip=1),
    "guix": Wrapper(needs="shell", dashes=True),
    "zellij": Wrapper(needs="run", dashes=True),
    "schroot": Wrapper("c u d -chroot -user -directory", dashes=True),
    "ssh-agent": Wrapper("a t P O E"),
    "systemd-cat": Wrapper("t p P -identifier -priority -stderr-priority -level-prefix"),
    **dict.fromkeys(("setuidgid", "s6-setuidgid", "s6-envuidgid", "envuidgid"), Wrapper(skip=1)),
    "softlimit": Wrapper("m d s l a o p f c r t"),
    "run0": Wrapper("u g D -user -group -chdir -unit -property -slice -nice -setenv"),
    "please": Wrapper("u d -user -dir"),
    **dict.fromkeys(("dtach", "abduco"), Wrapper("n A c N e r")),
    "lldb": Wrapper("o O s S k K -one-line -source", dashes=True),
    "dotenvx": Wrapper("f", needs="run"),
    "gosu": Wrapper(skip=1),
    "su-exec": Wrapper(skip=1),
    "chpst": Wrapper("u U b e / n l L m d o p f c t"),
    "setpriv": Wrapper("-reuid -regid -groups -inh-caps -ambient-caps -bounding-set -securebits"),
    "runcon": Wrapper("t u r l", skip=1),
    "pkexec": Wrapper("u -user"),
    "daemonize": Wrapper("a c e E l o p u"),
    "choom": Wrapper("n p"),
    "perf": Wrapper("e o F C p t -event -output", skip=1, dashes=True),
    "corepack": Wrapper(),
    "npx": Wrapper("p c -package -call", code="c -call"),
    "bunx": Wrapper("p -package"),
    "pnpx": Wrapper("-package"),
    "uvx": Wrapper("p -python -from -with"),
    "pipx": Wrapper("-spec -python", needs="run"),
    "cross-env": Wrapper(assigns=True),
    "cross-env-shell": Wrapper(assigns=True, joined=True),
    "dlx": Wrapper(),
    "retry": Wrapper("t s m d -times -delay"),
    "chronic": Wrapper(),
    "ifne": Wrapper(),
    "setlock": Wrapper(skip=1),
    "tsp": Wrapper("L D"),
    "wine": Wrapper(),
    "winpty": Wrapper(),
    "nix-shell": Wrapper("p I A -run -command -packages", code="-run -command"),
    "machinectl": Wrapper("E p M H -uid -setenv -machine -host", needs="shell", skip=1),
    "lxc-attach": Wrapper("n P -name"),
}


_CHANGES_WHO_OR_WHERE = frozenset(
    names(
        "sudo doas su runuser sg chroot unshare nsenter systemd-run script gosu su-exec chpst "
        "run0 please setuidgid s6-setuidgid schroot guix lldb "
        "setpriv runcon pkexec lxc-attach machinectl proot fakeroot firejail wine nix-shell "
        "npx bunx pnpx uvx pipx dlx corepack conda mamba micromamba "
        "daemonize perf op doppler aws-vault dbus-launch strace ltrace valgrind"
    )
)
TRANSPARENT = frozenset(["env", *_WRAPPERS]) - _CHANGES_WHO_OR_WHERE
"""Wrappers that only run the given command, as the same user on the same host."""


_ALSO = {"mise": "x", "sops": "exec-file"}
"""Second word equivalent to `needs`."""
_PACKAGE_RUNNERS = frozenset(["npx", "bunx", "pnpx", "uvx", "pipx"])
_VERSION = re.compile(r"(?<=.)@[\w.^~<>=*-]+$")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def _rule(spec: Wrapper) -> Rule:
    def rule(call: CommandCall) -> Iterator[Answer]:
        yield from _unwrapped(spec, call)

    return rule


def _unwrapped(spec: Wrapper, call: CommandCall) -> Iterator[Answer]:
    args = call.args
    if spec.needs:
        before = options(args, spec.valued, stop=True)
        if not before.rest or before.rest[0] not in {spec.needs, _ALSO.get(call.name)}:
            return
        args = before.rest[1:]
    given = options(args, spec.valued, stop=True)
    if spec.lookup and given.has(*("-" + name for name in spec.lookup.split())):
        return
    code = tuple("-" + name for name in spec.code.split())
    plain = [arg for arg in args if arg != "--"] if call.name == "su" else args
    if texts := options(plain, spec.valued).all_values(*code):
        yield from (script(text, stdin=call.stdin) for text in texts)
        return
    previous = args[given.first - 1] if 0 < given.first < len(args) else ""
    if (
        previous.startswith("--")
        and len(previous) > 2
        and "=" not in previous
        and len(given.rest) > 1
    ):
        # An unknown option may take the next word: assess both interpretations.
        yield from _inner(spec, call, given.rest[1:], None)
    yield from _inner(spec, call, given.rest, given.value(*("-" + n for n in spec.moves.split())))


def _inner(
    spec: Wrapper, call: CommandCall, rest: list[str], moves: str | None
) -> Iterator[Answer]:
    if spec.skip < 0:
        return
    inner = rest[spec.skip :]
    if spec.assigns:
        words = (at for at, word in enumerate(inner) if not _ASSIGNMENT.match(word))
        inner = inner[next(words, len(inner)) :]
    if inner[:1] == ["--"]:
        inner = inner[1:]
    elif spec.dashes and "--" in inner:
        yield run(inner[inner.index("--") + 1 :], stdin=call.stdin)
    if call.name in _PACKAGE_RUNNERS and inner:
        inner = [_VERSION.sub("", inner[0]), *inner[1:]]
    if call.name == "flock" and inner[:1] in (["-c"], ["--command"]):
        yield script(inner[1] if len(inner) > 1 else "", stdin=call.stdin)
    elif inner and spec.joined:
        yield script(" ".join(inner), stdin=call.stdin)
    elif inner:
        yield run(inner, stdin=call.stdin, moves=moves, here=call.name in {"command", "builtin"})


def _privileged_shell(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, _WRAPPERS["sudo"].valued, stop=True)
    if given.has("-s", "-i", "--shell", "--login") and not given.rest and call.stdin:
        yield script(call.stdin.text)
    if given.has("-e", "--edit"):
        yield ask("privileged_edit", "edits files as another user")


def _switch_user(call: CommandCall) -> Iterator[Answer]:
    if call.stdin and not options(call.args, _WRAPPERS["su"].valued).values.get("-c"):
        yield script(call.stdin.text)


def _on_terminal(call: CommandCall) -> Iterator[Answer]:
    """Handle `script file`: a shell that reads typed input."""
    if call.stdin and not options(call.args, _WRAPPERS["script"].valued).has("-c", "--command"):
        yield script(call.stdin.text)


def _package_runner(call: CommandCall) -> Iterator[Answer]:
    """Handle npm exec, pnpm dlx, yarn dlx, yarn workspace NAME exec, bun x: a package's program."""
    given = options(call.args, "w C -prefix -workspace -filter -dir -cwd", stop=True)
    if given.rest[:1] == ["explore"] and "--" in given.rest:
        yield run(given.rest[given.rest.index("--") + 1 :])
    words = given.rest[2:] if given.rest[:1] == ["workspace"] else given.rest
    if not words or words[0] not in {"exec", "x", "dlx"}:
        return
    inner = options(words[1:], "p c -package -call", stop=True)
    if code := inner.value("-c", "--call"):
        yield script(code)
    elif inner.rest:
        words = inner.rest[1:] if inner.rest[0] == "--" else inner.rest
        if len(words) == 1 and " " in words[0]:
            yield script(words[0])
        yield run([_VERSION.sub("", words[0]), *words[1:]] if words else [])


_BWRAP_TWO = frozenset(
    names(
        "--bind --ro-bind --dev-bind --bind-try --ro-bind-try --dev-bind-try --symlink --setenv "
        "--file --bind-data --ro-bind-data --chmod"
    )
)
_BWRAP_ONE = frozenset(
    names(
        "--chdir --unsetenv --proc --dev --tmpfs --mqueue --dir --hostname --uid --gid --args "
        "--lock-file --sync-fd --info-fd --seccomp --exec-label --cap-add --cap-drop --perms "
        "--size --argv0 --userns --pidns --block-fd --json-status-fd --remount-ro"
    )
)


def _bubblewrap(call: CommandCall) -> Iterator[Answer]:
    at = 0
    while at < len(call.args) and call.args[at].startswith("-"):
        word = call.args[at]
        at += 3 if word in _BWRAP_TWO else 2 if word in _BWRAP_ONE else 1
        if word == "--":
            break
    if call.args[at:]:
        yield run(call.args[at:], stdin=call.stdin)


def _own_namespace(call: CommandCall) -> Iterator[Answer]:
    """Handle `ip netns exec NAME command`, `ip vrf exec NAME command`."""
    words = options(call.args, "n -netns", stop=True).rest
    if words[1:2] == ["exec"] and words[3:]:
        yield run(words[3:], stdin=call.stdin)


def _develop(call: CommandCall) -> Iterator[Answer]:
    """Handle `nix develop -c`, `nix shell -c`, `nix run pkg -- args`."""
    if call.args[:1] == ["run"] and "--" in call.args:
        yield run(call.args[call.args.index("--") + 1 :])
    for flag in ("-c", "--command"):
        if flag in call.args[1:]:
            yield run(call.args[call.args.index(flag) + 1 :])
            return


def _on_change(call: CommandCall) -> Iterator[Answer]:
    """Handle nodemon, watchman-make: a command run repeatedly."""
    for text in options(call.args, "x -exec -run e w i -ext -watch").all_values(
        "-x", "--exec", "--run"
    ):
        yield script(text)


def _texts(valued: str, *code: str) -> Rule:
    def rule(call: CommandCall) -> Iterator[Answer]:
        """Treat each operand, and each value of `code`, as a shell command."""
        given = options(call.args, valued)
        for text in [*given.rest, *given.all_values(*code)]:
            yield script(text)

    return rule


def _entr(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, stop=True)
    if given.has("-s") and given.rest:
        yield script(given.rest[0])
    elif given.rest:
        yield run(given.rest)


def _terminal(call: CommandCall) -> Iterator[Answer]:
    """Handle a window with a command: `xterm -e command words`."""
    for at, word in enumerate(call.args):
        if word in {"-e", "-x", "--", "--command", "--execute"}:
            yield script(" ".join(call.args[at + 1 :]))
            return
    if call.name in {"kitty", "foot"}:
        yield run(options(call.args, "T o c d -title -config -override -directory", stop=True).rest)
    elif call.name == "wezterm":
        words = options(call.args, "-config -config-file", stop=True).rest
        if words[:1] in (["start"], ["ssh"]):
            yield run(options(words[1:], "-cwd -class -workspace -domain", stop=True).rest)


def _as_other(call: CommandCall) -> Iterator[Answer]:
    """Handle `ksu user -e command words`."""
    if "-e" in call.args:
        yield run(call.args[call.args.index("-e") + 1 :])


RULES: RuleTable = {
    name: _rule(spec)
    for name, spec in _WRAPPERS.items()
    if name not in {"sudo", "doas", "su", "script"}
}


def _both(first: Rule, second: Rule) -> Rule:
    def rule(call: CommandCall) -> Iterator[Answer]:
        yield from first(call)
        yield from second(call)

    return rule


RULES |= {
    "sudo": _both(_privileged_shell, _rule(_WRAPPERS["sudo"])),
    "doas": _both(_privileged_shell, _rule(_WRAPPERS["doas"])),
    "su": _both(_switch_user, _rule(_WRAPPERS["su"])),
    "script": _both(_on_terminal, _rule(_WRAPPERS["script"])),
    "env": env,
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _package_runner),
    "hyperfine": _texts(
        "w m M r n p s c P D L S -warmup -runs -prepare -setup -cleanup -export-json "
        "-export-markdown -conclude",
        *("-p", "--prepare", "-s", "--setup", "-c", "--cleanup", "--conclude"),
    ),
    "concurrently": _texts("n c p s -names -prefix -success"),
    "entr": _entr,
    "ksu": _as_other,
    **dict.fromkeys(
        names(
            "xterm gnome-terminal konsole alacritty kitty xfce4-terminal urxvt rxvt st foot "
            "wezterm terminator tilix x-terminal-emulator"
        ),
        _terminal,
    ),
    "bwrap": _bubblewrap,
    "ip": _own_namespace,
    "nix": _develop,
    **dict.fromkeys(("nodemon", "watchman-make"), _on_change),
}
