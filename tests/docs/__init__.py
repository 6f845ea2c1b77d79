"""The pages and examples say what is true."""
