"""How anything is fitted: the climb, its monitor, its acceleration, restarts, threads, progress."""
