"""Conversations: their turns and results.

conversations  `Conversations`: all of a server
open_sessions  sessions in memory, in step with the database, one thread at a time
questions      the question after the newest turn: which process chooses it
answers        between the API and a session: turns in, pages of results and beliefs out; one search without either
editing        replacing a turn
pools          `RetrieverPool`, `QuestionerPool`: which of them can be used here, and why the others cannot
schemas, routes  the same over HTTP
"""
