"""PriCDR (Chen et al.): its claims, and what decides them."""
