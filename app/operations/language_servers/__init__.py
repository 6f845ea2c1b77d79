"""Language servers: programs that analyze code and outlive a call."""
