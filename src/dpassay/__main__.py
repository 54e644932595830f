"""`python -m dpassay`."""

import sys

from dpassay.commands.main import main

sys.exit(main())
