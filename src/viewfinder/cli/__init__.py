"""The command line: a module for each group of verbs.

app       the program: which verbs there are
ending    how it ends: errors to one line and an exit code (the only place that does so), Ctrl-C
options   options that several verbs share
output    JSON for programs, lines and tables for people
library   add, find, values, status, failures, remove, prune, verify, repair, tune
chat      chat, demo; terminal: the prompt, typed: lines and scripts to turns, turns: what a turn came to
serve     serve, review, token
data      world, construct, dialogues
models    encoders; and the question before a model is fetched
train     train, features; evaluate: evaluate, compare; doctor: doctor, bench
"""

from viewfinder.cli.app import main, make_app, run

__all__ = ["main", "make_app", "run"]
