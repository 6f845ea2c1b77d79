"""What several tests need: programs, servers and fakes."""
