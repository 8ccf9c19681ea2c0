"""`python -m cutlass_ninja`: the same as `cutlass-ninja`."""

import sys

from .cli import main

sys.exit(main())
