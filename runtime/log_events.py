"""The names of everything that is logged, and what each tells. Names are stable; texts are not.

``tests/tidy/test_log_events`` holds the code and the README to this list.
"""

from typing import Final

LOG_EVENTS: Final = {
    "branch_worker_lost": "A reviewer's process died; its work is looked for and gone on with.",
    "command_rejected": "A run refused a command or a fact, with its code.",
    "head_unknown": "The head of a reviewed change could not be read, so nothing was approved.",
    "history_not_caught_up": "The SQL history could not take what the journal has; it tries again.",
    "host_unavailable": "The host did not answer; it is asked again.",
    "intent_performed": "The host answered an intent, and the run took the answer.",
    "journal_corrupt": "A row of the journal is damaged.",
    "library": "What a library warned of.",
    "no_worker": "All workers are busy; the run waits for one.",
    "not_counted": "This process is left out of the metrics, for want of room.",
    "not_measured": "A number could not be read for the metrics.",
    "not_ready": "The server cannot take commands now.",
    "occurrence_in_trouble": "An occurrence could not be dealt with; it is tried again.",
    "occurrence_made": "A schedule's slot, a person or a host's scheduler asks for a start.",
    "occurrence_settled": "An occurrence has made its run, or was refused.",
    "occurrence_start_failed": "Starting an occurrence's run raised; it is tried again.",
    "occurrence_waits": "Nobody could judge an occurrence's start yet; it is tried again.",
    "ray_lost": "A process of Ray died, and the server ends with it.",
    "receipt_not_written": "A receipt did not reach the disk; the effect is looked for again.",
    "report_answered": "An agent's report was accepted, or answered as before.",
    "report_failed": "Taking a report raised.",
    "report_refused": "An agent's report was refused, with its code.",
    "request_failed": "A request raised; people are told the incident's id.",
    "run_in_trouble": "A run's code raised; the run is set aside and tried again later.",
    "run_leased": "A worker has a run, under a new fencing token.",
    "run_out_of_trouble": "A run that was set aside goes on.",
    "run_passivated": "A run was let go of, as nothing was in flight.",
    "run_waits_in_vain": "A run's host has not answered for long.",
    "schedule_in_trouble": "Firing a schedule raised; the others go on.",
    "schedule_unreadable": "A schedule's row cannot be read; the others go on.",
    "scheduler_in_trouble": "Schedules cannot be fired now.",
    "scheduler_tick_failed": "A look at the schedules raised; the next one comes.",
    "supervisor_lost": "The supervisor did not answer; the command is told again.",
    "supervisor_not_measured": "The supervisor did not answer a scrape.",
    "supervisor_relief_failed": "Taking an idle worker raised; others are tried.",
    "supervisor_tick_failed": "A look at all runs raised; the next one comes.",
    "trouble_not_ended": "That a run goes on could not be written; it is tried again.",
    "trouble_not_kept": "That a run is in trouble could not be written; it is tried again.",
    "work_failed": "What a worker did for a run raised; it stays owed.",
    "worker_lost": "A run's process died; the run is leased again.",
}
