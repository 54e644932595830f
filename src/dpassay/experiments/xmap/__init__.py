"""X-Map (Guerraoui et al.): what private AlterEgos and neighbors cost in accuracy."""
