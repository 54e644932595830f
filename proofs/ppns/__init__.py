"""PPNS (Lu and Shen): its claims, and what decides them."""
