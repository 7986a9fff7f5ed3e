"""Every published bound of the workflow format, reports and processes, once.

Validation, the reporting tool and the public API all read them from here
(spec, *Schema ownership* and *Typed reports*); clients get them from ``published()``.
"""

from typing import Final

NODES_MAX: Final = 64
EDGES_MAX: Final = 256
REPORT_FIELDS_MAX: Final = 32
PREDICATE_DEPTH_MAX: Final = 8
PREDICATE_TERMS_MAX: Final = 128
MEMBERS_MAX: Final = 128
REPEATS_MIN: Final = 1
REPEATS_MAX: Final = 20
VISITS_MIN: Final = 1
VISITS_MAX: Final = 1_000
VISITS_DEFAULT: Final = 100
CHECK_RETRIES_MAX: Final = 20
AGENT_RESUMES_MAX: Final = 20
BRANCHES_MAX: Final = 64
DECIDERS_MAX: Final = 64
GATE_COMMENTS_MAX: Final = 100

ENVELOPE_BYTES_MAX: Final = 64 * 1024
SUMMARY_CHARS_MAX: Final = 4_000
EVIDENCE_REFERENCES_MAX: Final = 20
EVIDENCE_REFERENCE_CHARS_MAX: Final = 1_000
EVIDENCE_KIND_CHARS_MAX: Final = 64
RETRY_KEY_CHARS_MAX: Final = 128
FIELD_STRING_CHARS_MAX: Final = 16_000

TIMEOUT_MIN_S: Final = 60
TIMEOUT_MAX_S: Final = 24 * 60 * 60
EXECUTION_TIMEOUT_DEFAULT_S: Final = 2 * 60 * 60
REVIEW_DEADLINE_DEFAULT_S: Final = 2 * 60 * 60
CHECK_TIMEOUT_DEFAULT_S: Final = 10 * 60
SETUP_TIMEOUT_DEFAULT_S: Final = 10 * 60

NAME_CHARS_MAX: Final = 64
TITLE_CHARS_MAX: Final = 200
INSTRUCTIONS_CHARS_MAX: Final = 64_000
INPUT_VALUE_CHARS_MAX: Final = 64_000
BINDING_BYTES_MAX: Final = 128 * 1024
NOTE_CHARS_MAX: Final = 4_000
COMMENT_TEXT_CHARS_MAX: Final = 4_000
COMMENT_PATH_CHARS_MAX: Final = 1_000
COMMENTS_BYTES_MAX: Final = 64 * 1024
SCHEDULES_MAX: Final = 1_000
CATCH_UP_SLOTS_MAX: Final = 50
CRON_CHARS_MAX: Final = 200

OUTPUT_TAIL_BYTES_MAX: Final = 64 * 1024
OUTPUT_LOG_BYTES_MAX: Final = 64 * 1024 * 1024
PROBLEMS_MAX: Final = 500
DEFINITION_FILE_BYTES_MAX: Final = 1024 * 1024


def published() -> dict[str, int]:
    """Return every bound by its lower-case name, units last."""
    return {
        name.lower(): value
        for name, value in sorted(globals().items())
        if name.isupper() and isinstance(value, int)
    }
