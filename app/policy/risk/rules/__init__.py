"""One subject per module; each rule maps one call to findings and to what it would run next."""
