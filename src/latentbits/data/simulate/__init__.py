"""Data whose causes are known, a file a family. Nothing here imports a model, so recovery tests stay independent."""
