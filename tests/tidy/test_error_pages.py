"""Goal: every error code has its page, and every page its code.

Compared as text, so that the test does not depend on how the codes are declared.
"""

import re
from typing import Final

from tests.tidy.source_files import ROOT

CODE: Final = re.compile(r"\bPM\d{4}\b")
PROBLEMS: Final = ROOT / "runtime" / "problems.py"
PAGES: Final = ROOT / "runtime" / "error_codes"


def test_codes_and_pages_are_the_same_set() -> None:
    declared = set(CODE.findall(PROBLEMS.read_text(encoding="utf-8")))
    assert declared == {page.stem for page in PAGES.glob("*.md")}


def test_every_page_opens_with_its_code() -> None:
    wrong = [
        page.name
        for page in sorted(PAGES.glob("*.md"))
        if not page.read_text(encoding="utf-8").startswith(f"# {page.stem}")
    ]
    assert wrong == []
