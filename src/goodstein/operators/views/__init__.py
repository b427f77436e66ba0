"""Views: operators with test functions that a person can name."""
