"""Private rating collection (Zheng): its claims, and what decides them."""
