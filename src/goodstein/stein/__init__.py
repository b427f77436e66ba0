"""The mathematics of a block: features, tiles and forms of the Stein matrix."""
