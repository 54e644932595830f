"""Private rating collection (Zheng): completion of perturbed ratings."""
