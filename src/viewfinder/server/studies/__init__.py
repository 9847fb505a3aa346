"""Studies with people.

plan     what a study asks, as schemas; who looks for which picture with which retriever
studies  `Studies`: taking part, trial by trial
figures  what a study came to, and its export
routes   the same over HTTP
"""
