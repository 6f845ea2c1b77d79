"""Events tests."""
