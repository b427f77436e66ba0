"""Reports: one self-contained page of HTML."""
