"""Tests of windows of other programs on a desktop."""
