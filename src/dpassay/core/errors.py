"""The one exception a user is meant to see: what is wrong with the input and how to mend it."""


class InvalidInput(ValueError):
    """Unusable input. The message is one line that says what is wrong and how to mend it; the command line exits 2."""
