"""Put the browser interface into a wheel: hatchling calls this before it collects the files.

A tree that is installed in place builds nothing here; `scripts/bootstrap.py` does that for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WebBuildHook(BuildHookInterface):  # type: ignore[type-arg] # its argument is hatchling's own
    """Builds `app/web/dist` when it is not there, or is older than its sources."""

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Build the pages.

        Args:
            version: "standard" for a wheel, "editable" for a tree that is installed in place.
            build_data: what hatchling would let us change; nothing is.

        Raises:
            RuntimeError: the pages cannot be built; webbuild.py has told why above.
        """
        if version == "editable" or os.environ.get("TOLLGATE_WEB") == "skip":
            return
        program = Path(self.root) / "web" / "webbuild.py"
        done = subprocess.run([sys.executable, str(program)], check=False)
        if done.returncode:
            raise RuntimeError(
                "A wheel holds the browser interface, and that could not be built (see above). "
                "Set TOLLGATE_WEB=skip for a wheel without pages."
            )
