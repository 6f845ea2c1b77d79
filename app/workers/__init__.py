"""Worker processes: the loop of a sub-agent, and the pool of warm workers."""
