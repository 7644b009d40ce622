"""Numbers as the paper prints them, one module per experiment.

Scope: none; other people's numbers.
"""
