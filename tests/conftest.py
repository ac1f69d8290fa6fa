"""Property tests repeat their examples; HYPOTHESIS_PROFILE=random looks for new ones."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True)
settings.register_profile("random", settings())
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
