"""Talks: what is said to them, what it comes to.

talks      `Talks`: all talks of a server
live       the talks in memory, one thread at a time
rows       the talks in the database
turns      turns, questions and trees between the API and the engine
answers    pages of results; cards: name, size and caption of a picture
beliefs    what the system takes the user to want now, as chips
asking     the question after a turn, chosen while the talk goes on
speaking   answers in words, by retrievers that speak
questioners  who can ask here, and what stands in the way of the others
editing    another turn in the place of one
documents  export, import, feedback
engines    retrievers, loaded once and over pictures that they can read
searching  one search without a talk
"""
