"""Every function here breaks its claim."""
