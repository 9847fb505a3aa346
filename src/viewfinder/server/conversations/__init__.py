"""Conversations: their turns and results.

conversations  `Conversations`: all of a server
open_sessions  those in memory, one thread at a time, and the questions being chosen for them
answers        between the API and a session: turns in, pages of results and beliefs out; one search without either
editing        replacing a turn
pools          `RetrieverPool`, `QuestionerPool`: which of them can be used here, and why the others cannot
schemas, routes  the same over HTTP
"""
