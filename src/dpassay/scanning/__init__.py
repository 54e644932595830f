"""`dpassay scan`: what in an installed package makes a claim about privacy, and whether the claim is true."""
