"""Tests of the entities of the features."""
