"""The version of the program, which every report and certificate of an audit names."""

__version__ = "1.0.0"
