"""Attacks: see CONTRIBUTING for the shape of one."""
