"""One class of exception for each code that the server's errors begin with."""

from __future__ import annotations

from typing import Dict, Optional, Type

from redis import exceptions


class TupledError(exceptions.ResponseError):
    """The server refused something. `code` is the first word of its error, `message` the rest."""

    code = ""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(f"{code or self.code} {message}".strip())
        self.code = code or self.code
        self.message = message


class CommandError(TupledError):
    """The command, a key, a value or an option is wrong; or it could not be done."""

    code = "ERR"


class WrongTypeError(TupledError):
    """The stored value, or the operand, has a type that the command is not for."""

    code = "WRONGTYPE"


class LimitError(TupledError):
    """Something is larger, longer or more than a limit allows."""

    code = "LIMIT"


class NumberOverflowError(TupledError):
    """The result is a number that its type cannot hold; nothing was changed."""

    code = "OVERFLOW"


class RangeError(TupledError):
    """The sum would leave its RANGE; nothing was changed."""

    code = "RANGE"


class DuplicateError(TupledError):
    """A unique index has the value already: of `index`, at `key` (JSON)."""

    code = "DUPLICATE"

    @property
    def index(self) -> str:
        return self.message.split(" ", 1)[0]

    @property
    def key(self) -> str:
        return self.message.partition(" ")[2]


class BusyKeyError(TupledError):
    """RESTORE without REPLACE: the key is there."""

    code = "BUSYKEY"


class CorruptError(TupledError):
    """What was stored cannot be read: the disk gave it back damaged."""

    code = "CORRUPT"


class IndexingError(TupledError):
    """The index is still being filled."""

    code = "INDEXING"


class QuotaError(TupledError):
    """The database holds as much as its limits allow."""

    code = "QUOTA"


class NoDatabaseError(TupledError):
    """There is no such database, or the selected one was dropped."""

    code = "NODB"


class BrokenError(TupledError):
    """Of the database inside a program only: it has to be opened anew."""

    code = "BROKEN"


class StaleError(TupledError):
    """The history asked for is no longer kept; it is from `oldest` on."""

    code = "STALE"

    @property
    def oldest(self) -> str:
        return self.message.split(" ", 1)[0]


class TryAgainError(TupledError):
    """Nothing happened, and it may work next time. The helper has tried for `retry_for` seconds."""

    code = "TRYAGAIN"


class ExecAbortError(TupledError):
    """EXEC did nothing; which command was wrong, and its error, follow."""

    code = "EXECABORT"


class UnblockedError(TupledError):
    """CLIENT UNBLOCK ended the wait."""

    code = "UNBLOCKED"


class NoProtoError(TupledError):
    """HELLO asked for a protocol that the server does not speak."""

    code = "NOPROTO"


class DeniedError(TupledError):
    """Protected mode: another machine, and no password."""

    code = "DENIED"


class NoAuthError(TupledError):
    """The connection must say AUTH first."""

    code = "NOAUTH"


class WrongPassError(TupledError):
    """AUTH failed."""

    code = "WRONGPASS"


class NoPermissionError(TupledError):
    """The user may not run the command, or not on this key, channel or database."""

    code = "NOPERM"


class NoScriptError(TupledError):
    """EVALSHA: the server does not know a script of that SHA1; send it with EVAL."""

    code = "NOSCRIPT"


class NotBusyError(TupledError):
    """SCRIPT KILL or FUNCTION KILL: no script runs that could be ended."""

    code = "NOTBUSY"


class NoGroupError(TupledError):
    """There is no such stream, or it has no such consumer group."""

    code = "NOGROUP"


class BusyGroupError(TupledError):
    """XGROUP CREATE: the stream has a group of that name."""

    code = "BUSYGROUP"


class InvalidObjectError(TupledError):
    """PFADD, PFCOUNT, PFMERGE: the value begins as a HyperLogLog, but is none."""

    code = "INVALIDOBJ"


ERRORS: Dict[str, Type[TupledError]] = {c.code: c for c in TupledError.__subclasses__()}

# What redis-py has classes for comes without its code.
_CODES = {
    exceptions.NoPermissionError: "NOPERM",
    exceptions.TryAgainError: "TRYAGAIN",
    exceptions.ExecAbortError: "EXECABORT",
    exceptions.NoScriptError: "NOSCRIPT",
}


def make_error(text: str) -> TupledError:
    """Of the text of an error reply."""
    code, _, message = text.partition(" ")
    if code in ERRORS:
        return ERRORS[code](message)
    if code.isupper() and code.isalnum():
        return TupledError(message, code)
    return CommandError(text)


def typed(error: Exception) -> Optional[TupledError]:
    """The server's error, of one that redis-py has raised; None: it is not one of the server's."""
    if isinstance(error, TupledError):
        return error
    text = str(error)
    if getattr(error, "status_code", None) == "ERR":
        return CommandError(text) if isinstance(error, exceptions.ResponseError) else None
    if isinstance(error, exceptions.AuthenticationError):
        code = getattr(error, "status_code", None)
        if code not in ERRORS:
            code = "WRONGPASS" if "username-password" in text else "NOAUTH"
        return make_error(text if text.startswith(f"{code} ") else f"{code} {text}")
    for kind, code in _CODES.items():
        if isinstance(error, kind):
            return make_error(text if text.startswith(f"{code} ") else f"{code} {text}")
    if isinstance(error, exceptions.ResponseError):
        return make_error(text)
    if isinstance(error, exceptions.ConnectionError) and text.startswith("DENIED "):
        return make_error(text)
    return None
