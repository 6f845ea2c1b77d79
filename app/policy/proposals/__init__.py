"""Proposals of rules, from recorded calls and the answers of people, with their proof."""
