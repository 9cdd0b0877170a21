"""``scipy.spatial`` for arrays of either engine and for tracers: distances."""

from funcgrad._public import publish
from funcgrad.scipy.spatial import distance as distance

__all__ = ["distance"]
__dir__ = publish(__name__)
