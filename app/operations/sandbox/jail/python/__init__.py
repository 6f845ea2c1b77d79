"""Python at each level: checks and execution. The security boundary is the kernel, not this."""
