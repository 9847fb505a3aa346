"""Jobs that change the collection.

manager  `Jobs`: kept in the database, done one at a time
worker   both ends of the process that does one
routes   the collection and its jobs over HTTP

Nothing is imported here: a worker starts through this folder, and needs no web server.
"""
