"""Error codes of `grab`."""

NO_SUCH_MONITOR = 3
NO_DISPLAY = 4
