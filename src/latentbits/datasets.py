"""Data that ship with a dependency: the public name of `latentbits.data.datasets`."""

from latentbits.data.datasets import BinaryImages, data_folder, load_digits

__all__ = ["BinaryImages", "data_folder", "load_digits"]
