"""Who may call what, from where, how much and how long: everything that is decided before a route sees a request."""

from viewfinder.server.access.caller import LOCAL, SCOPES, Admin, Caller, Reader, Scope, Writer
from viewfinder.server.access.chain import install_access
from viewfinder.server.access.tokens import NewToken, Tokens

__all__ = ["LOCAL", "SCOPES", "Admin", "Caller", "NewToken", "Reader", "Scope", "Tokens", "Writer", "install_access"]
