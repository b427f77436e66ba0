"""Right-censored durations: their data, models, operators and checks."""
