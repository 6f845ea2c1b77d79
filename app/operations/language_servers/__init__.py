"""Language servers: programs that know code and outlive a call."""
