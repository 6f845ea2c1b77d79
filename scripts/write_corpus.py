"""Write the risk corpus that proposed rules are proven against, from the corpora of the tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from app.policy.proposals.corpus import PACKAGED, programs_of
from app.policy.risk.model import ShellName

CORPORA = Path(__file__).resolve().parent.parent / "tests" / "policy" / "risk"
_SHELLS: dict[str, tuple[ShellName, ...]] = {
    "windows": ("powershell", "cmd"),
    "powershell": ("powershell",),
    "cmd": ("cmd",),
}


def commands() -> Iterator[tuple[ShellName, str]]:
    """Yield every labelled command with the shells that it is for."""
    for path in sorted(CORPORA.glob("risk_*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            for shell in _SHELLS.get(case.get("shell", ""), ("bash",)):
                yield shell, case["command"]


def main() -> None:
    cases = [
        json.dumps([shell, command, sorted(programs_of(command, shell))], ensure_ascii=False)
        for shell, command in sorted(set(commands()))
    ]
    PACKAGED.write_text("\n".join(cases) + "\n", encoding="utf-8")
    print(f"{len(cases)} cases, {PACKAGED.stat().st_size} bytes")


if __name__ == "__main__":
    main()
