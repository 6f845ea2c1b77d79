"""Program that writes the desktop as PNG to standard output, after a line `WIDTH HEIGHT`.

A separate process, because the libraries of X11 may end the process that uses them.
"""

from __future__ import annotations

import sys

import mss
import mss.tools

from app.operations.screens.grab_codes import NO_DISPLAY, NO_SUCH_MONITOR


def main() -> int:
    """Capture the monitor with the number in the first argument; 0 is all of them."""
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
