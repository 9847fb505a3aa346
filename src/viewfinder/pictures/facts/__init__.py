"""What a file, its neighbours and its name say of a picture besides its pixels: dates, words, people, places, camera.

`model` has the facts and how those of several sources are merged; every other module reads one source.
"""
