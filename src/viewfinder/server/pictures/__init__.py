"""Pictures over HTTP.

library      what the library holds: cards, pages, facts, original files, filters with counts
thumbnails   `Thumbnails`: small copies, each made once, away from searching
uploads      `Uploads`: files that people send, to be shown to the search or added to the library
schemas, routes  the same over HTTP (schemas: also those of jobs)
"""
