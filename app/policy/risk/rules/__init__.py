"""Rules by subject; each rule maps one call to findings and to code it would run."""
