"""`python -m dpassay`."""

import sys

from dpassay.cli import main

sys.exit(main())
