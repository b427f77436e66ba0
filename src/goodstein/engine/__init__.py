"""The one pass over the Stein matrix: tiles, signs and executors."""
