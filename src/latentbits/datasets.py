"""Data sets, bundled or in a folder of the user's."""

# ruff: noqa: F403  (each name stands once, in `__all__` of the module that defines it)

from latentbits.data.datasets import folder as _folder
from latentbits.data.datasets import images as _images
from latentbits.data.datasets import nature as _nature
from latentbits.data.datasets import people as _people
from latentbits.data.datasets import text as _text
from latentbits.data.datasets.folder import *
from latentbits.data.datasets.images import *
from latentbits.data.datasets.nature import *
from latentbits.data.datasets.people import *
from latentbits.data.datasets.text import *

__all__: list[str] = []
__all__ += _folder.__all__
__all__ += _images.__all__
__all__ += _nature.__all__
__all__ += _people.__all__
__all__ += _text.__all__
