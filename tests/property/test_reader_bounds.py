"""Goal: no workflow file crashes the reader, hangs it, or takes more than a bounded memory.

Method: a child process reads texts of a mebibyte and thousands of damaged examples under hard
limits of memory and processor time. The seed is fixed; another one finds other texts::

    python -m tests.harness.definition_fuzzer SEED COUNT tests/unit/storage/definitions/*.yaml
"""

import json
import resource
import subprocess
import sys
from pathlib import Path

from tests.tidy.source_files import ROOT

SEED = 20_301
COUNT = 1_500
MEMORY_BYTES_MAX = 512 * 1024 * 1024
PROCESSOR_S_MAX = 100


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S_MAX, PROCESSOR_S_MAX))


def test_damaged_and_huge_files_are_read_within_bounds() -> None:
    examples = sorted(Path(ROOT / "tests/unit/storage/definitions").glob("*.yaml"))
    fuzzer = [sys.executable, "-m", "tests.harness.definition_fuzzer"]
    done = subprocess.run(
        [*fuzzer, str(SEED), str(COUNT), *map(str, examples)],
        cwd=ROOT,
        preexec_fn=_limited,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, f"seed {SEED}: {done.stderr[-3000:]}"
    shown = json.loads(done.stdout)
    assert shown["read"] == COUNT
    assert 0 < shown["valid"] < COUNT, "some damage is harmless, most is not"
