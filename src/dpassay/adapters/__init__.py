"""Mechanisms of other libraries, seen through the protocol; each needs the extra named like it."""
