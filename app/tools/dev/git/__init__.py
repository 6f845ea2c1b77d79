"""Read access to git repositories."""
