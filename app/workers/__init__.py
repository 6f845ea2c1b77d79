"""Worker processes: the loop of a sub-agent, and how it is started and kept warm."""
