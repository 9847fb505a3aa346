"""Who may call what, from where, how much and how long: everything that is decided before a route sees a request.

tokens   callers, scopes and the tokens they come with
gate     the layers that a request passes: headers, origin, who calls
bodies   how much a request may bring, and how large bodies are read without anybody waiting
limits   how long a request may take, how many there may be
routes   logging in, and the tokens over HTTP
"""
