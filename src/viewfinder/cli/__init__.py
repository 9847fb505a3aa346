"""The command line: one small module a verb or group of verbs.

app       the program: which verbs there are, and how it ends
failing   errors to one line and an exit code, the only place that does so
options   options that several verbs share
output    JSON, and tables for people
typed     what a person types in a talk -> turns and commands
script    turns from a file
"""

from viewfinder.cli.app import app, main, run

__all__ = ["app", "main", "run"]
