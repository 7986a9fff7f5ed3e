"""What keeps a journal from doing what it is asked."""


class JournalError(Exception):
    """Base of everything the journal raises; nothing was written when it is raised."""


class SequenceConflictError(JournalError):
    """The run has other events than the writer folded: load it again and decide again."""


class FencedError(JournalError):
    """A newer lease exists: this writer must stop; another one owns the run."""


class ReceiptConflictError(JournalError):
    """The command id was answered meanwhile: read its receipt."""


class JournalFullError(JournalError):
    """The disk is full; the command was refused and the run is as it was."""


class JournalCorruptError(JournalError):
    """A row does not decode or its checksum is wrong."""


class JournalFormatError(JournalError):
    """The data directory was written by a newer format, or is none of ours."""


class JournalOutdatedError(JournalError):
    """The data directory was written by an older format, and must be migrated first."""


class JournalPlaceError(JournalError):
    """The folder is on a network file system, or on another that is not the machine's own."""
