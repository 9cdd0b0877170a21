"""The gallery's pictures in the site."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

STYLE = Path(__file__).parents[2] / "examples" / "gallery" / "gallery.mplstyle"


def apply(gallery: dict[str, Any], script: str) -> None:
    """Give each program the style that its pictures have when it is run by itself."""
    del gallery, script
    plt.style.use(STYLE)
