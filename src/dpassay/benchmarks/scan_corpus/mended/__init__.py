"""Every function here keeps its claim; its twin of the same name in `broken` does not."""
