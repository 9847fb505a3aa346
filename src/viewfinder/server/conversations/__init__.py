"""Conversations: what is said in them, what it comes to.

conversations  `Conversations`: all of a server
open_sessions  those in memory, one thread at a time, and the questions that are being chosen for them
answers        between the API and a session: turns in, pages of results out; one search without a conversation
beliefs        what the system takes the user to want now, as chips
editing        another turn in the place of one
retrievers     `RetrieverPool`: loaded once, and over pictures that they can read
questioners    `QuestionerPool`: who can ask here, and what stands in the way of the others
schemas, routes  the same over HTTP
"""
