"""The front door: all that can be said of a model and data, in one object."""
