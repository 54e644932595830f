"""Long work: in several processes, and kept so that a killed run goes on."""
