"""The tests that users call, one file for each, all on the one path of the pipeline."""
