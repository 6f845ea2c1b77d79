"""The delegation tools, on a service that follows a script."""
