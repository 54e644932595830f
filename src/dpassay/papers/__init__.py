"""The papers: one file of claims each."""
