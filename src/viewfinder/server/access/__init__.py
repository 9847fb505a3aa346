"""Who may call what, from where, how much and how long: everything that is decided before a route sees a request.

tokens   callers, scopes and the tokens they come with
trust    the head of a request, and whether it shows that this machine's own user sends it
gate     the layers that a request passes: headers, host, who calls, how often, from which page
bodies   how much a request may bring, how long it may take, and how large bodies are read while others go on
limits   how many requests there may be, and the threads that work for them
routes   logging in, and the tokens over HTTP
"""
