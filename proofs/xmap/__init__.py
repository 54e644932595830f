"""X-Map (Guerraoui et al.): its claims, and what decides them."""
