"""PriCDR (Chen et al.): its table and its sweeps, with trained recommenders."""
