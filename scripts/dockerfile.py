"""Read the instructions of a Dockerfile: just those that the project's own one uses."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field

_CONTINUED = re.compile(r"\\\n")
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class Step:
    """One instruction, its words or shell text, and the stage that a copy comes from."""

    name: str
    text: str
    source: str | None = None

    def words(self) -> list[str]:
        """The arguments: a JSON array, or words split as a shell would."""
        if self.text.startswith("["):
            parsed = json.loads(self.text)
            return [str(word) for word in parsed]
        return shlex.split(self.text)


@dataclass
class Stage:
    """One FROM with what follows it."""

    name: str
    base: str
    steps: list[Step] = field(default_factory=list)

    def last(self, name: str) -> Step | None:
        """The instruction of that name which is in force at the end."""
        return next((step for step in reversed(self.steps) if step.name == name), None)


def parse(text: str) -> list[Stage]:
    """Return the stages in order; raise ValueError on an instruction that is not known here."""
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
            if name == "RUN":  # the values are the defaults; other names are the shell's
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
    """The command of a HEALTHCHECK, without its options."""
    _, _, command = step.text.partition("CMD ")
    return Step("CMD", command).words()
