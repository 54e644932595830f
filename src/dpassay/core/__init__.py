"""Claims, verdicts, certificates and privacy definitions: pure values, which need no JAX."""
