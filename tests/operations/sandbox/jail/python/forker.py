"""A process that has everything preloaded and forks for each piece of code, as the zygote does.

Reads one JSON object a line: code, level, modules, paths, cwd, stdout, stderr, report (files to
write). Answers the exit status, one line each. Nothing confines what it runs.
"""

import json
import os
import sys
from typing import Any


def main(root: str) -> None:
    sys.path.insert(0, root)
    from app.operations.sandbox.jail.python.preload import add_packages
    from app.operations.sandbox.jail.python.run import preload, run

    sys.path.remove(root)
    preload()
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(_payload(run, add_packages, job))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(status, flush=True)


def _payload(run: Any, add_packages: Any, job: dict[str, Any]) -> int:
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    report = os.open(job["report"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.set_inheritable(report, True)
    os.chdir(job["cwd"])
    add_packages(job["modules"], job["paths"])
    status: int = run(job["code"], job["level"], frozenset(job["modules"]), report)
    return status


main(sys.argv[1])
