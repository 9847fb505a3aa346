"""The library for assistants: the tools of the Model Context Protocol, over the services of a server.

schemas    what tools take and answer
visit      one call: over which services, by whom
tools      the tools: a description and a function each
albums     the tools for albums, favourites and stars
looking    pictures of the library as an assistant sees them
images     pictures that are small enough to be sent along
protocol   the tools and pictures as a server of the protocol
local      spoken on stdin and stdout, for an assistant on this machine
extension  spoken over HTTP, as a part of the server: same tokens, scopes and guards

Conversations are those of the server's database, so a person sees on the page what an assistant did.
"""
