"""Reference mechanisms, one file each."""
