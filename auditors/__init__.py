"""Auditors: exact enumeration and the search for worst-case neighbors. Each works on any `FiniteMechanism`."""
