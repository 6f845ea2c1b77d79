"""Every line of the contract by its id, joined to the tests that prove it by a marker."""
