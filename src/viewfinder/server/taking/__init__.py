"""What comes after a picture was found: it is marked, put into albums, downloaded, opened, taken along with others.

schemas, routes      the API
keeping              albums, favourites and stars, as far as the library has their pictures
filters              conditions on them in searches
opening              a picture in the system's own program, on this machine
exports              which pictures are taken along, and as what
archives, tables, sidecars   the files that are made of them, piece by piece
"""
