"""The programs of Locus in a Python environment: the commands `locus` and `locus-trainer`, and `locus demo`.

The Python client is the package `locus`; this one holds what was compiled, and uses nothing but the standard library,
so that a command starts at once.
"""
