"""How much may be called, how often and at what cost."""
