"""Other tests of the same question, to compare with and for data too large for a Stein matrix."""
