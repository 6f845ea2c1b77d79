"""Host power, processes, services, accounts, kernel, firewall."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import (
    Answer,
    CommandCall,
    RuleTable,
    ask,
    asking,
    deny,
    names,
    only_help,
    options,
    prints_help,
    script,
    table,
)
from app.policy.risk.model import RiskLevel

_POWER_UNITS = frozenset(
    names(
        "poweroff reboot halt kexec soft-reboot suspend hibernate hybrid-sleep "
        "emergency rescue poweroff.target reboot.target halt.target"
    )
)


def _power(call: CommandCall) -> Iterator[Answer]:
    # `-h` halts, or does nothing: it is not help.
    if prints_help(call.args) or options(call.args).has("-c", "--show", "-w", "--wtmp-only"):
        return
    if call.name == "shutdown" and options(call.args).has("-k"):
        yield ask("message", "shutdown -k warns all users of the host", RiskLevel.MEDIUM)
        return
    yield deny("host_power", f"{call.name} shuts down or restarts the host")


def _init(call: CommandCall) -> Iterator[Answer]:
    if set(call.args) & {"0", "6", "1", "s", "S"}:
        yield deny("host_power", "changes the host's run level")


def _systemctl(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "H M t n o p -host -machine -type -property -lines -output -state")
    verb = given.rest[0] if given.rest else ""
    units = set(given.rest[1:])
    if verb in _POWER_UNITS or (verb in {"isolate", "start"} and units & _POWER_UNITS):
        yield deny("host_power", f"systemctl {verb} stops the host")
    elif verb in {
        "stop",
        "disable",
        "mask",
        "kill",
        "isolate",
        "revert",
        "set-default",
        "edit",
        "link",
    }:
        yield ask("service", f"systemctl {verb} changes running services", RiskLevel.MEDIUM)
    elif verb == "enable":
        yield ask("service", "installs a program that starts automatically", RiskLevel.MEDIUM)


_TURNS_OFF = frozenset(
    names(
        "poweroff reboot halt kexec suspend hibernate hybrid-sleep suspend-then-hibernate "
        "soft-reboot"
    )
)


def _sessions(call: CommandCall) -> Iterator[Answer]:
    words = options(call.args, "H M n o p s -host -machine -lines -output -property -signal").rest
    verb = words[0] if words else ""
    if verb in _TURNS_OFF:
        yield deny("host_power", f"loginctl {verb} stops the host")
    elif verb.startswith(("terminate-", "kill-")):
        yield ask("kill_by_name", f"loginctl {verb} ends a person's programs", RiskLevel.MEDIUM)


def _bus(call: CommandCall) -> Iterator[Answer]:
    """Handle busctl and dbus-send: the method is one word among others."""
    text = " ".join(call.args)
    if re.search(r"\b(?:PowerOff|Reboot|Halt|Suspend|Hibernate|HybridSleep|KExec)\b", text):
        yield deny("host_power", f"{call.name} requests a stop of the host")
    elif re.search(r"\b(?:StopUnit|KillUnit|MaskUnitFiles|DisableUnitFiles|StartTransient)", text):
        yield ask("service", f"{call.name} changes running services", RiskLevel.MEDIUM)


def _wake(call: CommandCall) -> Iterator[Answer]:
    mode = options(call.args, "m s t d -mode").value("-m", "--mode")
    if prints_help(call.args):
        return
    if mode not in {"no", "on", "show", "disable"}:
        yield deny("host_power", "rtcwake suspends or shuts down the host")


def _power_supply(call: CommandCall) -> Iterator[Answer]:
    if set(call.args) & {"off", "cycle", "reset", "soft"}:
        yield ask("host_power", "ipmitool shuts down or restarts a host", RiskLevel.CRITICAL)


def _service(call: CommandCall) -> Iterator[Answer]:
    if set(call.args[1:]) & {"stop", "disable"}:
        yield ask("service", "stops a service", RiskLevel.MEDIUM)


_STOPS = {
    "initctl": {"stop"},
    "rc-update": {"del", "delete"},
    "update-rc.d": {"remove", "disable"},
    "chkconfig": {"off", "--del"},
    "supervisorctl": {"stop", "shutdown", "remove", "clear"},
    "pm2": {"delete", "del", "kill"},
    "forever": {"stopall", "cleanlogs"},
}


def _manager(call: CommandCall) -> Iterator[Answer]:
    if _STOPS[call.name] & set(call.args):
        yield ask("service", f"{call.name} stops or removes services", RiskLevel.MEDIUM)


def _kill(call: CommandCall) -> Iterator[Answer]:
    if {"-l", "-L", "--list"} & set(call.args):
        return
    args = list(call.args)
    pids = [
        arg
        for at, arg in enumerate(args)
        if not arg.startswith("-") and (at == 0 or args[at - 1] not in {"-s", "-n"})
    ]
    negative = args[-1:] == ["-1"]
    if negative:
        yield deny("kill_all", "signals every process of the host")
    elif "1" in pids and (len(args) > 1 or args == ["1"]):
        yield ask("kill_init", "signals the first process of the host", RiskLevel.CRITICAL)


def _pattern_kill(call: CommandCall) -> Iterator[Answer]:
    if not only_help(call.args) and not {"-0", "-l", "--list", "-L"} & set(call.args):
        yield ask("kill_by_name", f"{call.name} ends every process that matches", RiskLevel.MEDIUM)


def _crontab(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "u")
    if only_help(call.args) or (given.has("-l") and not given.has("-r")):
        return
    if given.has("-r"):
        yield ask("crontab", "deletes all scheduled commands")
    elif call.args or call.stdin:
        yield ask("crontab", "changes the scheduled commands")


def _at(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "f q t")
    if given.has("-l", "-c", "-V"):
        return
    if given.has("-r", "-d"):
        yield ask("crontab", "removes scheduled commands", RiskLevel.MEDIUM)
    elif given.has("-f"):
        yield ask("deferred", "schedules a script", RiskLevel.MEDIUM)
    elif call.stdin:
        yield script(call.stdin.text)


def _sysctl(call: CommandCall) -> Iterator[Answer]:
    if any("=" in arg for arg in call.args) or options(call.args).has(
        "-w", "-p", "--write", "--load"
    ):
        yield ask("kernel", "changes kernel settings")


def _mount(call: CommandCall) -> Iterator[Answer]:
    operands = options(call.args, "t o O L U").rest
    if operands or options(call.args, "t o O").has("-a"):
        yield ask("mount", f"{call.name} changes mounts", RiskLevel.MEDIUM)


def _firewall(call: CommandCall) -> Iterator[Answer]:
    lists = {
        "-L",
        "-S",
        "--list",
        "--list-rules",
        "-nL",
        "-nvL",
        "-Lnv",
        "-vnL",
        "status",
        "list",
        "--list-all",
        "--state",
    }
    if not only_help(call.args) and call.args and not set(call.args) & lists:
        yield ask("firewall", f"{call.name} changes the firewall")


def _journal(call: CommandCall) -> Iterator[Answer]:
    if any(arg.startswith(("--vacuum", "--rotate", "--flush")) for arg in call.args):
        yield ask("logs", "deletes logs", RiskLevel.MEDIUM)


def _unified_log(call: CommandCall) -> Iterator[Answer]:
    if call.args[:1] == ["erase"]:
        yield ask("logs", "deletes the logs of macOS", RiskLevel.MEDIUM)


def _network_interface(call: CommandCall) -> Iterator[Answer]:
    words = [arg for arg in call.args if not arg.startswith("-")]
    if (
        call.name == "ip" and set(words[1:2]) & {"del", "delete", "flush", "set", "add", "replace"}
    ) or (call.name == "ifconfig" and len(words) > 1):
        yield ask("network_setup", "changes the host's network")


def _network_manager(call: CommandCall) -> Iterator[Answer]:
    words = set(options(call.args, "t f").rest)
    if words & {"delete", "del", "down", "off", "modify", "add", "disconnect", "up"}:
        yield ask("network_setup", f"{call.name} changes the host's network", RiskLevel.MEDIUM)


def _holders(call: CommandCall) -> Iterator[Answer]:
    if options(call.args, "n s").has("-k", "--kill"):
        yield ask("kill_by_name", "ends every process that uses a file", RiskLevel.MEDIUM)


def _sockets(call: CommandCall) -> Iterator[Answer]:
    if options(call.args, "f A F D N").has("-K", "--kill"):
        yield ask("kill_by_name", "closes connections of other programs", RiskLevel.MEDIUM)


def _backups(call: CommandCall) -> Iterator[Answer]:
    if any(arg.startswith(("delete", "thin", "disable")) for arg in call.args):
        yield ask("volume", "deletes backups")


def _hosts(call: CommandCall) -> Iterator[Answer]:
    if (
        call.name == "hostnamectl"
        and set(call.args) & {"set-hostname", "hostname"}
        and len(call.args) > 1
    ):
        yield ask("system_write", "renames the host", RiskLevel.MEDIUM)


def _gpg(call: CommandCall) -> Iterator[Answer]:
    if any(re.match(r"--(?:delete|export-secret|yes-delete)", arg) for arg in call.args):
        yield ask("keys", "deletes or shows keys")


def _keychain(call: CommandCall) -> Iterator[Answer]:
    if call.args and re.match(r"delete|find-.*password|dump-keychain|export", call.args[0]):
        yield ask("keys", "shows or deletes stored secrets")


def _launchctl(call: CommandCall) -> Iterator[Answer]:
    if call.args[:1] and call.args[0] not in {"list", "print", "help", "version"}:
        yield ask("service", "changes what macOS runs", RiskLevel.MEDIUM)


def _defaults(call: CommandCall) -> Iterator[Answer]:
    if "delete" in call.args or "delete-all" in call.args:
        yield ask("settings", "deletes settings")


def _clock(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "d f r s -date -file -reference -set")
    if call.name == "date":
        changes = given.has("-s", "--set") or any(
            re.fullmatch(r"\d{8,12}(?:\.\d\d)?", word) for word in given.rest
        )
    elif call.name == "hwclock":
        changes = given.has("-w", "-s", "-a", "--systohc", "--hctosys", "--set", "--adjust")
    else:
        changes = any(word.startswith("set-") for word in given.rest)
    if changes:
        yield ask("clock", f"{call.name} sets the host's clock", RiskLevel.MEDIUM)


def _route(call: CommandCall) -> Iterator[Answer]:
    if {"add", "del", "delete", "change", "flush"} & set(call.args):
        yield ask("network_setup", "changes the host's network")


def _hostname(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "F b -file")
    if given.rest or given.has("-F", "-b", "--file"):
        yield ask("system_write", "renames the host", RiskLevel.MEDIUM)


def _loop_device(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "o j O -offset -associated -output -sizelimit")
    if given.has("-d", "-D", "--detach", "--detach-all", "-f", "--find") or len(given.rest) > 1:
        yield ask("mount", "changes the display of a device", RiskLevel.MEDIUM)


def _device(call: CommandCall) -> Iterator[Answer]:
    if {"b", "c", "u"} & set(options(call.args, "m -mode").rest[1:2]):
        yield ask("device_node", "makes a device file", RiskLevel.MEDIUM)


def _message(call: CommandCall) -> Iterator[Answer]:
    """Ask about messages, which cannot be recalled; without a recipient the mailbox is only
    read.
    """
    if options(call.args, "s r c b a F f S q u e").rest and not only_help(call.args):
        yield ask("message", f"{call.name} sends a message to people", RiskLevel.MEDIUM)


def _setenforce(call: CommandCall) -> Iterator[Answer]:
    if call.args[:1] not in ([], ["1"]) and call.args[0].lower() != "enforcing":
        yield ask("kernel", "setenforce disables mandatory access control")


RULES: RuleTable = {
    **table("date hwclock timedatectl", _clock),
    "route": _route,
    "hostname": _hostname,
    "losetup": _loop_device,
    "mknod": _device,
    **table("mail mailx sendmail mutt neomutt msmtp swaks wall write s-nail", _message),
    **table("shutdown reboot poweroff halt pm-suspend systemd-halt", _power),
    **table("init telinit", _init),
    "systemctl": _systemctl,
    "loginctl": _sessions,
    **table("busctl dbus-send gdbus", _bus),
    "rtcwake": _wake,
    "ipmitool": _power_supply,
    **table("service rc-service", _service),
    **table(" ".join(_STOPS), _manager),
    "kill": _kill,
    **table("pkill killall skill", _pattern_kill),
    **asking("killall5", "kill_all", "ends every process", RiskLevel.CRITICAL),
    "crontab": _crontab,
    **table("at batch", _at),
    **asking("atrm", "crontab", "removes scheduled commands"),
    "sysctl": _sysctl,
    **table("mount umount", _mount),
    **table("iptables ip6tables nft ufw firewall-cmd ebtables pfctl", _firewall),
    **asking(
        "visudo passwd usermod useradd adduser userdel deluser groupadd groupdel "
        "groupmod gpasswd chpasswd chsh "
        "vipw vigr pwconv chage dscl sysadminctl",
        "accounts",
        "changes accounts",
    ),
    **asking(
        "modprobe insmod rmmod kexec grub-install update-grub efibootmgr setcap csrutil nvram",
        "kernel",
        "changes the kernel or the boot",
    ),
    "setenforce": _setenforce,
    "journalctl": _journal,
    "log": _unified_log,
    **table("ip ifconfig", _network_interface),
    **table("nmcli tc networksetup", _network_manager),
    "fuser": _holders,
    "ss": _sockets,
    "tmutil": _backups,
    **asking("xkill", "kill_by_name", "ends a window's process", RiskLevel.MEDIUM),
    **asking("ssh-copy-id", "keys", "adds a login key on another host"),
    "hostnamectl": _hosts,
    "gpg": _gpg,
    "security": _keychain,
    "launchctl": _launchctl,
    "defaults": _defaults,
}
