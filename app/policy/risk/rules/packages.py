"""Package managers: removing from the host, publishing to the world."""

from __future__ import annotations

from collections.abc import Iterator

from app.policy.risk.call import Answer, Call, RuleTable, ask, names, options, run, script, table
from app.policy.risk.model import RiskLevel

_REMOVES = {
    **dict.fromkeys(
        names("apt apt-get aptitude yum dnf zypper microdnf tdnf"),
        frozenset({"remove", "purge", "autoremove", "erase", "rm", "autopurge"}),
    ),
    "apk": {"del"},
    "brew": {"uninstall", "remove", "rm", "autoremove", "zap"},
    "snap": {"remove"},
    "flatpak": {"uninstall", "remove"},
    "port": {"uninstall"},
    "pkg": {"delete", "remove", "autoremove"},
    "emerge": {"--unmerge", "-C", "--depclean"},
    "nix-env": {"-e", "--uninstall"},
    "nix-collect-garbage": {"-d", "--delete-old"},
    "nix-store": {"--gc", "--delete"},
    "dpkg": {"-r", "-P", "--remove", "--purge"},
    "rpm": {"-e", "--erase"},
    "choco": {"uninstall"},
    "winget": {"uninstall", "remove"},
    "scoop": {"uninstall"},
}
_FLAGGED = frozenset(["emerge", "nix-env", "nix-collect-garbage", "nix-store", "dpkg", "rpm"])
"""Those that take an option where the others take a verb."""
_PUBLISHES = {
    **dict.fromkeys(
        ["npm", "pnpm", "yarn", "bun"], frozenset({"publish", "unpublish", "deprecate"})
    ),
    "cargo": {"publish", "yank", "owner"},
    "twine": {"upload"},
    "gem": {"push", "yank"},
    **dict.fromkeys(["poetry", "uv", "hatch", "flit", "pdm"], frozenset({"publish"})),
    "vsce": {"publish", "unpublish"},
    "nuget": {"push", "delete"},
    "lerna": {"publish"},
    "changeset": {"publish"},
    "mvn": {"deploy", "deploy:deploy"},
}


def _host_packages(call: Call) -> Iterator[Answer]:
    words = options(call.args, "o c t").rest[:1] if call.name not in _FLAGGED else call.args
    if set(words) & _REMOVES[call.name] or (
        call.name == "rpm" and any(a.startswith("-e") for a in call.args)
    ):
        yield ask("package_remove", f"{call.name} removes software from the host")


def _apt(call: Call) -> Iterator[Answer]:
    yield from _host_packages(call)
    yield from _package_hooks(call)


def _package_hooks(call: Call) -> Iterator[Answer]:
    """`-o DPkg::Pre-Invoke::=command`: a shell command of apt's own settings."""
    for setting in options(call.args, "o c t -option").all_values("-o", "--option"):
        key, _, value = setting.partition("=")
        if "invoke" in key.lower():
            yield script(value.strip('{}"; '))
        elif key.lower().startswith(("dir::", "dpkg::path")):
            yield ask("loaded_code", f"{key} makes apt run or read other files")


def _pacman(call: Call) -> Iterator[Answer]:
    if any(arg.startswith(("-R", "--remove")) for arg in call.args):
        yield ask("package_remove", "pacman removes software from the host")


def _publish(call: Call) -> Iterator[Answer]:
    words = options(call.args, "C -prefix -registry -filter -directory").rest
    words = words[1:2] if words[:1] == ["npm"] and call.name == "yarn" else words[:1]
    if (
        set(words) & _PUBLISHES[call.name]
        and "--dry-run" not in call.args
        and "--help" not in call.args
    ):
        yield ask("publish", f"{call.name} {words[0]} cannot be taken back", RiskLevel.MEDIUM)
    elif _of_registry(call):
        yield ask("publish", f"{call.name} changes what the registry holds", RiskLevel.MEDIUM)


def _of_registry(call: Call) -> bool:
    pairs = {"owner rm", "token revoke", "access revoke", "dist-tag rm", "team rm", "hook rm"}
    words = options(call.args, "-registry -prefix C").rest
    return call.name in {"npm", "pnpm", "yarn"} and " ".join(words[:2]) in pairs


def _dotnet(call: Call) -> Iterator[Answer]:
    if call.args[:1] == ["nuget"]:
        yield run(call.args)


def _conda(call: Call) -> Iterator[Answer]:
    words = options(call.args, "n p").rest
    if words[:2] == ["env", "remove"] or (words[:1] == ["remove"] and "--all" in call.args):
        yield ask("package_remove", "removes a whole environment", RiskLevel.MEDIUM)


def _project_script(call: Call) -> Iterator[Answer]:
    """`yarn rimraf x`, `pnpm prisma …`: a program of the project run by its name."""
    words = options(call.args, "C -cwd -filter -dir", stop=True).rest
    words = options(words[1:], stop=True).rest if words[:1] == ["run"] else words
    if words[:1] and words[0] in {
        "rimraf",
        "del-cli",
        "prisma",
        "knex",
        "sequelize",
        "typeorm",
        "sequelize-cli",
    }:
        yield run(words)


RULES: RuleTable = {
    **table(" ".join(_REMOVES), _host_packages),
    **table("apt apt-get aptitude", _apt),
    **table("pacman yay paru", _pacman),
    "dotnet": _dotnet,
    **table("conda mamba micromamba", _conda),
}
for _name in _PUBLISHES:
    RULES[_name] = _publish


def _scripts_too(call: Call) -> Iterator[Answer]:
    yield from _publish(call)
    yield from _project_script(call)


RULES |= table("yarn pnpm bun", _scripts_too)
