"""Files that commands for authors put into a project: workflows, scripts, the format's schema.

What an author may have written is never overwritten. The schema is generated, says so, and is
renewed.
"""

import json
import os
from pathlib import Path, PurePosixPath
from typing import Final

from pointsman.storage import catalog

SCHEMA_FILE: Final = PurePosixPath(".pointsman/workflow.schema.json")
# Editors read the path from the workflow file on (.pointsman/workflows/NAME.yaml).
MODELINE: Final = "# yaml-language-server: $schema=../workflow.schema.json\n"
_COMMENT: Final = "Written by `pointsman schema --write`; editors read it. Do not edit it."


def schema_text() -> str:
    """Return the JSON Schema of the format as a file."""
    from pointsman.graph.schema import workflow_schema

    made = workflow_schema()
    return json.dumps({"$comment": _COMMENT, **made}, indent=2, ensure_ascii=False) + "\n"


def with_modeline(file: Path, text: str) -> str:
    """Return a workflow's text with the line that shows editors the schema beside it."""
    in_folder = file.parent.parts[-2:] == PurePosixPath(catalog.FOLDER).parts
    return MODELINE + text if in_folder and catalog.is_definition(file.name) else text


def write_new(file: Path, text: str) -> bool:
    """Write a file that is not there yet; ``False`` means that it is, and was left alone."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        return False
    return True


def write_schema(project: Path) -> tuple[Path, bool]:
    """Put the schema into a project; ``False`` means that the same one was there."""
    file, text = project / SCHEMA_FILE, schema_text()
    try:
        if file.read_text(encoding="utf-8") == text:
            return file, False
    except (OSError, UnicodeDecodeError):
        pass
    file.parent.mkdir(parents=True, exist_ok=True)
    # Editors watch the file: they never see half of it.
    half = file.with_name(f"{file.name}.{os.getpid()}")
    half.write_text(text, encoding="utf-8")
    half.replace(file)
    return file, True
