"""Checks of an installation, for `tollgate doctor` and the admin pages."""
