"""Media: screenshots, generated images, and files for the chat."""
