"""How many worktrees there are on disk, without asking git about any of them."""

import os
from collections import Counter
from pathlib import Path
from typing import Final

from pointsman.actors.metric_labels import WorktreeRole
from pointsman.runtime.durable import file_name

_OF_A_RUN: Final = file_name(":primary")


def worktrees_on_disk(trees: Path) -> Counter[WorktreeRole]:
    """Count the folders of worktrees by whose they are; the names say it."""
    try:
        with os.scandir(trees) as entries:
            names = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        names = []
    return Counter(
        WorktreeRole.PRIMARY if name.endswith(_OF_A_RUN) else WorktreeRole.REVIEWER
        for name in names
    )
