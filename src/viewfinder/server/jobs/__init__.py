"""Jobs that change the collection: `manager.Jobs` keeps them, `worker` does one in a process of its own.

Nothing is imported here: a worker starts through this folder, and needs no web server.
"""
