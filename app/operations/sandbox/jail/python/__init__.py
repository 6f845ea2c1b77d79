"""What Python code may say at each level, and running it. The wall is the kernel, not this."""
