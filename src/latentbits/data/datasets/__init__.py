"""Data sets: one that ships with a dependency, and loaders of those that are kept in a folder of the user's.

folder.py knows the folder and refuses files that aren't what they should be; the others hold the loaders by kind.
`latentbits.datasets` has the public names.
"""
