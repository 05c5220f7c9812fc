"""Surveys with repeat visits: which species are there although no visit has seen them.

The family has no record: model files, comparisons and `latentbits fit` are about tables, and this is about histories.
"""
