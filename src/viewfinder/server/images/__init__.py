"""Files of pictures over HTTP: small copies, what people send, the files themselves.

thumbnails  `Thumbnails`: small copies, each made once, away from searching
receiving   a file in a form, put on the disk while it arrives
uploads     `Uploads`: images of one's own, to be shown to the search
adding      a picture sent for the library
originals   the files themselves, while they are the pictures that were added
details, similar   what is known of a picture; which ones are like it
known       a picture by its id, or the problem that it is not there
"""

from viewfinder.server.images.thumbnails import PictureSource, Thumbnails
from viewfinder.server.images.uploads import Uploads

__all__ = ["PictureSource", "Thumbnails", "Uploads"]
