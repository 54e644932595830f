"""Auditors: see CONTRIBUTING for the shape of one."""
