"""Windows of other programs on a desktop, and texts typed into them."""
