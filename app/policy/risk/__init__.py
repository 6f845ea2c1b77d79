"""Risk analysis of shell commands before they run. Pure code: no I/O, no clock, no state."""
