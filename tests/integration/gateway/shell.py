"""The command line in this process, against the harness's server."""

import json
from typing import Any

from tests.harness import shell


class Shell(shell.Shell):
    """Runs commands against the harness's server and keeps what they wrote."""

    @property
    def document(self) -> Any:
        """The document on stdout; the harness's server logs there too, in lines of its own."""
        return json.loads(self.out[self.out.index("{\n") :])
