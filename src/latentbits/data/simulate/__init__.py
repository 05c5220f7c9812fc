"""Data whose causes are known, a file a family; `latentbits.simulate` has the public names.

Nothing here imports a model, so recovery tests stay independent.
"""
