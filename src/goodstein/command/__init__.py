"""The command line `goodstein`: files and strings in, text or JSON out; the statistics are the library's.

`main.main` is the entry point. A module reads one kind of file, understands one kind of string, or is one
command; click is imported nowhere else in the package.
"""
