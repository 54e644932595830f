"""The one exception a user is meant to see: what is wrong with the input and how to mend it."""


def printable(text: str) -> str:
    """The text with every character that does not print shown as its escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class InvalidInput(ValueError):
    """Unusable input. The message is one line that says what is wrong and how to mend it; the command line exits 2.

    Whatever files and other libraries put into a message, it stays one line that prints.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(str(message)))
