"""Everything that can go wrong for a user, as one small tree.

ViewfinderError                 what, where, what to do, in one line
├── BadInput                    wrong use: exit 2 (a missing folder, an unknown name, a malformed script line)
│   ├── UnknownName             a retriever, encoder, column, attribute or picture that does not exist
│   └── EmptyQuery              nothing to search for
├── LibraryError                exit 1: the library on disk cannot serve this request
│   ├── NotALibrary             the folder holds something else, or nothing
│   ├── NewerLibrary            written by a later version of viewfinder
│   ├── DamagedLibrary          files of it are missing, or not as they were written: `viewfinder repair`
│   ├── EncoderMismatch         the library (or checkpoint) was made with another encoder or version
│   ├── LibraryBusy             another process is writing and did not finish in time
│   └── DiskFull                nothing of what was acknowledged is lost
├── LanguageModelFailed         a language model is slow, out of reach, or says nothing that can be used
├── DatabaseError               the server's database cannot be reached, read or brought up to date
└── PictureError                one file cannot become a picture; it is quarantined with this reason

The command line turns them into messages and exit codes in one place (`cli/`).
"""


class ViewfinderError(Exception):
    """Base of all errors that are meant for a user; the text is one clear line."""

    exit_code = 1


class BadInput(ViewfinderError):
    """The request itself is wrong; repeating it unchanged will fail again."""

    exit_code = 2


class UnknownName(BadInput):
    """Something is called by a name that does not exist; the message lists what does."""


class EmptyQuery(BadInput):
    """There is nothing to search for."""


class LibraryError(ViewfinderError):
    """The library on disk cannot serve the request."""


class NotALibrary(LibraryError):
    """The folder is not a viewfinder library."""


class NewerLibrary(LibraryError):
    """The library was written by a later version of viewfinder."""


class DamagedLibrary(LibraryError):
    """Files of the library are missing, or not as they were written."""


class EncoderMismatch(LibraryError):
    """The library or checkpoint belongs to another encoder or encoder version."""


class LibraryBusy(LibraryError):
    """Another process holds the library for writing."""


class DiskFull(LibraryError):
    """The disk is full; what was acknowledged before is kept."""


class LanguageModelFailed(ViewfinderError):
    """A language model did not answer in time, could not be reached, or said nothing that can be used."""


class DatabaseError(ViewfinderError):
    """The server's database cannot be reached, read or brought up to date."""


class PictureError(ViewfinderError):
    """One file cannot become a picture; `str()` is the reason shown by `viewfinder failures`."""
