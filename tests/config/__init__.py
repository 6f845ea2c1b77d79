"""Settings tests."""
