"""The HTML report of a run, the JSON Schemas of the files, and what a run comes to in a few sentences."""

from dpassay.report.schema import validate_certificate, validate_run

__all__ = ["validate_certificate", "validate_run"]
