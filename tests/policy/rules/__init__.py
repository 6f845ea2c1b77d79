"""Tests of rules on arguments."""
