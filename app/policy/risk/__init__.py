"""What a shell command would do, judged before it runs. Pure code: no I/O, no clock, no state."""
