"""Constructed dialogues before a person.

reviews  `Reviews`: the dialogues of a file, and what was decided about them
app      the app that serves them
"""
