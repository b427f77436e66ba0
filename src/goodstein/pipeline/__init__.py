"""The one path of every test: compose, audit, calibrate, report."""
