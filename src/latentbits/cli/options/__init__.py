"""Options that several commands share, and what may stand behind them."""
