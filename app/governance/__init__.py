"""Governance: settings stored by administrators, as an immutable snapshot."""
