"""The chat protocol, driven by a real client over a real socket."""
