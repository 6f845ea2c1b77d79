"""Computing on values that come with the call."""
