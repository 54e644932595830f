"""PPNS (Lu and Shen): the paper's tables, and what the repaired selections cost."""
