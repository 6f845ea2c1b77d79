"""How `grab` says what went wrong."""

NO_SUCH_MONITOR = 3
NO_DISPLAY = 4
