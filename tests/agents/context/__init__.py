"""Tests of what fits into a request."""
