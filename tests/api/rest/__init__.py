"""Tests of the REST edge."""
