"""Screenshots of web pages and of the desktop."""
