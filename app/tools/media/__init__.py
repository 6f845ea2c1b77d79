"""Pictures of screens and pages, and files for the chat."""
