"""`python -m dpassay`."""

import sys

from dpassay.commands.main import main

code = main()
# A Ctrl-C inside an `exec` of text (every dataclass is one) would end `python -m` by the signal, although it was
# caught; the next `exec` forgets it.
exec("")
sys.exit(code)
