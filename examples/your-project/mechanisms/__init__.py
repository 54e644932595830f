"""What this project releases about its users' ratings."""
