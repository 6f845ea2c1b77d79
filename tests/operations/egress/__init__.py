"""What the proxy reads from programs and answers them."""
