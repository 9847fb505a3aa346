"""Conversations: what is said in them, what it comes to.

conversations  `Conversations`: all of a server
open_sessions  those in memory, one thread at a time, and the questions that are being chosen for them
answers        between the API and a session: turns in, pages of results and beliefs out; one search without either
editing        another turn in the place of one
pools          `RetrieverPool`, `QuestionerPool`: who can read and ask here, and what stands in the way of the others
schemas, routes  the same over HTTP
"""
