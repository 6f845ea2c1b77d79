"""Windows of other programs on a desktop, and text input to them."""
