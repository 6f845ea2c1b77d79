"""Parser of Dockerfile instructions: only those used by the project's own one."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field

_CONTINUED = re.compile(r"\\\n")
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class Step:
    """Instruction, its words or shell text, and the stage that a copy comes from."""

    name: str
    text: str
    source: str | None = None

    def words(self) -> list[str]:
        """Return the arguments: a JSON array, or words split like a shell."""
        if self.text.startswith("["):
            parsed = json.loads(self.text)
            return [str(word) for word in parsed]
        return shlex.split(self.text)


@dataclass
class Stage:
    """FROM with the instructions that follow it."""

    name: str
    base: str
    steps: list[Step] = field(default_factory=list)

    def last(self, name: str) -> Step | None:
        """Return the last instruction with the name, which is the effective one."""
        return next((step for step in reversed(self.steps) if step.name == name), None)


def parse(text: str) -> list[Stage]:
    """Return the stages in order; raise ValueError on an unknown instruction."""
    known = {"RUN", "COPY", "ENV", "WORKDIR", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK"}
    known |= {"ENTRYPOINT", "CMD"}
    stages: list[Stage] = []
    arguments: dict[str, str] = {}
    lines = (line.strip() for line in _CONTINUED.sub(" ", text).splitlines())
    for line in lines:
        if not line or line.startswith("#"):
            continue
        name, _, rest = line.partition(" ")
        rest = rest.strip()
        if name == "ARG":
            key, _, value = rest.partition("=")
            arguments[key] = value.strip('"')
        elif name == "FROM":
            base, *alias = _VARIABLE.sub(lambda found: arguments[found[1]], rest).split()
            stages.append(Stage(alias[1] if alias else str(len(stages)), base))
        elif name in known and stages:
            if name == "RUN":  # the values are the defaults; other names belong to the shell
                rest = _VARIABLE.sub(lambda found: arguments.get(found[1], found[0]), rest)
            stages[-1].steps.append(_step(name, rest))
        else:
            raise ValueError(f"unknown instruction {name!r}")
    return stages


def _step(name: str, rest: str) -> Step:
    if name == "COPY" and rest.startswith("--from="):
        source, _, rest = rest.removeprefix("--from=").partition(" ")
        return Step(name, rest, source)
    return Step(name, rest)


def healthcheck_command(step: Step) -> list[str]:
    """Return the command of a HEALTHCHECK, without its options."""
    _, _, command = step.text.partition("CMD ")
    return Step("CMD", command).words()
