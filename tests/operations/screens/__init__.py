"""Pictures of pages and of the desktop."""
