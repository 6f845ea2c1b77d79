"""Run as a program: the desktop as PNG on standard output, `WIDTH HEIGHT` on the line before.

Its own process, because the libraries of X11 may end the one that uses them.
"""

from __future__ import annotations

import sys

import mss
import mss.tools

from app.operations.screens.grab_codes import NO_DISPLAY, NO_SUCH_MONITOR


def main() -> int:
    """Picture the monitor that the first argument numbers; 0 is all of them together."""
    try:
        with mss.MSS() as screens:
            number = int(sys.argv[1])
            if number >= len(screens.monitors):
                return NO_SUCH_MONITOR
            taken = screens.grab(screens.monitors[number])
    except mss.ScreenShotError as error:
        sys.stderr.write(f"{error}\n")
        return NO_DISPLAY
    png = mss.tools.to_png(taken.rgb, taken.size)
    assert png is not None
    sys.stdout.buffer.write(b"%d %d\n" % (taken.width, taken.height) + png)
    return 0


if __name__ == "__main__":
    sys.exit(main())
