"""What a collection looks at where nothing is said: for each kind of data its members, and their names."""
