"""The version of the program, which every report and certificate of an audit names."""

__version__ = "0.1.0"
