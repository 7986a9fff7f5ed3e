"""What users of comparable systems reported in public, and the test that keeps it from us.

Goal: no reported kind of failure is met by hope. Method: each row names reports, what must be so
instead, and tests that show it; this file only proves that the named tests exist, and that no
report of a section that must be complete is without a row. Reports on what is not built yet have
none.
"""

import ast
from functools import cache
from typing import Final, NamedTuple

import pytest

from tests.tidy.source_files import ROOT


class Case(NamedTuple):
    """A kind of failure that was reported, and what shows that it cannot happen here."""

    reports: tuple[str, ...]
    instead: str
    tests: tuple[str, ...]


CASES: Final = (
    # The reporting tool.
    Case(("slynch8/10x#3905",), "the reporting tool says truthfully that it writes",
         ("test_tools_are_the_same_for_every_step_and_tell_the_truth_about_themselves",)),
    Case(("anthropics/claude-code#64296",), "name and schema are the same for every step",
         ("test_tools_are_the_same_for_every_step_and_tell_the_truth_about_themselves",
          "test_contract_tool_shows_the_steps_own_fields_and_changes_nothing")),
    Case(("Noveum/orbit#407", "modelcontextprotocol/modelcontextprotocol#3182"),
         "an exact retry after a lost answer gets the committed receipt",
         ("test_exact_retry_after_the_answer_was_lost_gets_the_committed_receipt",
          "test_exact_retry_after_a_restart_gets_the_same_receipt",
          "test_same_retry_key_with_another_payload_is_refused_and_the_first_report_stands",
          "test_second_report_under_a_new_key_is_a_conflict_even_with_the_same_payload")),
    Case(("daintreehq/daintree#7531",), "a new bearer of the same attempt gets the old receipt",
         ("test_fresh_token_of_the_same_attempt_gets_the_old_receipt",
          "test_bad_bearer_gets_a_plain_401_without_oauth_metadata")),
    Case(("wjarka/cezar#88",), "a malformed report names its fields and costs nothing",
         ("test_malformed_report_names_the_field_and_the_next_valid_one_is_accepted",
          "test_refused_reports_do_not_use_up_the_reminder")),
    # The end of a turn is not the end of a step.
    Case(("anthropics/claude-code#87836",),
         "an exit does not do what it leaves owed; the whole process tree is waited for",
         ("test_an_exit_that_leaves_a_wake_or_work_owed_is_an_interruption",
          "test_an_agents_input_is_closed_from_the_start_and_its_tasks_outlive_its_turn")),
    Case(("anthropics/claude-code-action#1462",), "no report: one reminder, then unresolved",
         ("test_a_settled_attempt_without_a_report_is_reminded_once_and_then_unresolved",
          "test_text_that_looks_like_a_report_or_a_promise_is_none")),
    Case(("openai/codex#36141", "multica-ai/multica#1799"),
         "a reported step waits for its children",
         ("test_a_reported_attempt_with_unfinished_work_is_not_settled",
          "test_a_reported_run_goes_on_only_when_the_last_child_has_ended",
          "test_a_worktree_in_which_an_agent_works_is_kept")),
    Case(("anthropics/claude-code-action#1531",), "what an agent leaves in the background is work",
         ("test_an_agent_is_over_only_when_its_background_work_is",
          "test_a_reported_attempt_with_unfinished_work_is_not_settled")),
    Case(("openai/codex#15920", "langgenius/mosoo#553", "chenhg5/cc-connect#1520",
          "unfence-labs/hive#236"),
         "the end of one session moves no other",
         ("test_the_end_of_one_reviewers_work_moves_no_other",)),
    Case(("open-mercato/cezar:chain-integrity",), "no word of a host completes a run",
         ("test_nothing_that_a_host_says_of_the_first_step_completes_the_run",)),
    Case(("Tryanks/tcode#327",), "cancel ends the whole process tree, or says what is left",
         ("test_cancel_ends_an_agent_that_ignores_sigterm_with_its_children",
          "test_a_timeout_ends_children_in_sessions_of_their_own_too",
          "test_processes_that_could_not_be_ended_are_an_attention_item")),
    Case(("open-mercato/cezar#1076",), "no check starts before the agent's settlement",
         ("test_a_check_never_starts_before_the_agents_settlement",)),
    # States that are stuck, or lie, after crashes.
    Case(("pingdotgg/t3code#8802", "pingdotgg/t3code#8895", "pingdotgg/t3code#10426"),
         "work that is gone is interrupted, whatever was told of it",
         ("test_a_completed_claim_followed_by_a_bad_end_is_never_success",
          "test_a_killed_agent_is_lost_and_can_be_resumed",
          "test_a_host_that_never_tells_an_end_is_found_out_by_a_look_after_the_interruption",
          "test_a_session_that_a_look_finds_gone_is_interrupted_though_its_turn_never_ended")),
    Case(("pingdotgg/t3code#4584", "mastra-ai/mastra#19191"),
         "after any crash the run goes on, or waits with a way out",
         ("test_killing_the_engine_launches_nothing_twice_and_changes_no_history",
          "test_killing_the_engine_and_all_agents_changes_no_history",
          "test_a_run_actor_that_dies_at_every_nth_step_still_brings_the_run_to_its_gate")),
    Case(("pingdotgg/t3code#4452",), "a look settles the work without any event",
         ("test_work_that_ended_without_a_word_is_settled_by_a_look",)),
    Case(("saltbo/agent-kanban#229",), "whatever waits has something that wakes it",
         ("test_whatever_happens_the_laws_hold_and_something_wakes_the_run",
          "test_every_run_of_every_valid_definition_keeps_the_laws")),
    Case(("dbos-inc/dbos-transact-ts#725",), "one start, however often and at once, is one run",
         ("test_two_starts_with_one_id_at_the_same_time_make_one_run",
          "test_the_same_start_id_with_other_inputs_is_refused")),
    Case(("open-mercato/cezar#998",), "of two writers the older one is fenced off",
         ("test_a_writer_whose_lease_was_taken_over_is_fenced_off_in_its_own_process",
          "test_an_engine_that_lost_its_lease_is_refused_every_time",
          "test_a_second_server_is_refused_and_the_first_one_does_not_notice",
          "test_two_hosts_at_once_launch_an_attempt_once")),
    # Questions of the agent.
    Case(("pingdotgg/t3code#5454", "Emanuele-web04/synara#1161"),
         "what can no longer be answered refuses the answer",
         ("test_a_request_that_can_no_longer_be_answered_refuses_answers",
          "test_a_question_waits_for_a_person_and_is_answered_once")),
    Case(("langchain-ai/langgraph#7780", "langchain-ai/langgraph#6208"),
         "an answer runs nothing again and costs no visit",
         ("test_an_agents_question_waits_for_a_person_and_costs_no_visit",
          "test_a_native_request_is_visible_and_answering_it_adds_no_visit")),
    # Markers and claims.
    Case(("code-yeongyu/oh-my-openagent#1921", "anthropics/claude-plugins-official#3632"),
         "printed text has no effect",
         ("test_text_that_looks_like_a_report_or_a_promise_is_none",)),
    Case(("mikeyobrien/ralph-orchestrator#47",), "repeats are bounded",
         ("test_the_first_execution_plus_one_repeat_is_exactly_two_visits",)),
    Case(("mikeyobrien/ralph-orchestrator#123", "awslabs/cli-agent-orchestrator#312"),
         "declared, typed fields steer the route, not a claim of success",
         ("test_each_declared_type_and_the_envelopes_own_fields_route",
          "test_an_agent_goes_next_whatever_outcome_it_claims")),
    # Worktrees.
    Case(("sashiko-dev/sashiko#139",), "worktrees of one repository are made one after the other",
         ("test_many_worktrees_of_one_repository_are_made_at_once",
          "test_a_whole_worktree_without_a_receipt_is_adopted",
          "test_eight_at_once_get_eight_worktrees_and_leave_nothing_else",
          "test_a_preparation_asked_again_returns_the_worktree_there_is",
          "test_a_preparation_killed_at_any_point_adopts_the_same_folder")),
    Case(("forecast-bio/crosslink#317", "indexable-inc/index#2764"),
         "a foreign folder or branch of the name is left alone",
         ("test_a_foreign_folder_is_refused_and_left_alone",
          "test_a_foreign_branch_is_refused_and_left_alone",
          "test_a_foreign_folder_in_its_place_is_left_alone",
          "test_every_branch_has_its_own_identities_before_anything_is_begun")),
    Case(("anthropics/claude-code#38287", "smtg-ai/claude-squad#44"),
         "what is not in a branch yet is never removed",
         ("test_a_worktree_with_something_to_lose_is_kept",
          "test_a_clean_worktree_is_removed_and_its_branch_is_kept")),
    # Parallel reviews and joins.
    Case(("QwenLM/qwen-code#8846",), "no number of reports short of all is all_completed",
         ("test_two_of_three_reports_make_no_join",
          "test_all_six_orders_come_to_the_first_aggregate_that_applies",
          "test_three_reports_with_one_child_still_running_make_no_join")),
    Case(("nicobailon/pi-subagents#22",), "nothing is bound to a report that is not there",
         ("test_a_branch_without_its_input_makes_the_group_unresolved_and_nothing_is_frozen",
          "test_nothing_of_an_incomplete_join_can_be_read")),
    Case(("QuintinShaw/pi-dynamic-workflows#182",), "without results the run is unresolved",
         ("test_an_incomplete_join_without_a_route_waits_unresolved_and_may_be_reviewed_again",
          "test_a_branch_ends_as_documented_and_is_waited_for")),
    Case(("open-ace/open-ace#2715",), "each generation has new attempts; resuming brings no report",
         ("test_a_new_generation_freezes_anew_and_its_branches_are_new_attempts",
          "test_reports_of_an_older_generation_steer_nothing_of_the_new_one",
          "test_a_resume_goes_on_in_the_same_attempt_without_a_visit_and_may_then_complete")),
    Case(("github/copilot-cli#4195",), "a reviewer who writes invalidates itself, and nobody else",
         ("test_a_reviewers_shell_can_disobey_and_is_found_out",
          "test_a_hidden_edit_is_found", "test_a_branch_ends_as_documented_and_is_waited_for")),
    Case(("mattpocock/skills#845",), "reviewers see one commit, however the change moves on",
         ("test_work_in_the_runs_own_worktree_reaches_no_reviewer",
          "test_each_reviewer_is_told_the_commit_the_range_the_diff_and_its_own_folder")),
    Case(("anthropics/claude-code#77268", "anthropics/claude-code#91405"),
         "a worktree is not let go of while anybody works in it",
         ("test_a_worktree_in_which_a_reviewer_works_is_told_to_be_in_use",
          "test_a_worktree_in_which_a_check_runs_is_told_to_be_in_use",
          "test_a_worktree_whose_set_up_still_runs_is_told_to_be_in_use")),
    Case(("anthropics/claude-code#79899",), "what a reviewer committed or left is never lost",
         ("test_a_reviewers_commit_on_a_branch_can_not_be_lost",
          "test_a_worktree_with_something_to_lose_is_neither_released_nor_pruned")),
    # Freshness.
    Case(("DollhouseMCP/mcp-server#2557",), "no approval of another commit than was reviewed",
         ("test_a_gate_on_a_review_shows_what_it_relies_on_and_needs_the_head_to_approve",
          "test_an_approval_of_a_head_that_moved_is_refused_even_if_nobody_had_seen_it_move",
          "test_a_head_that_moved_and_came_back_withdraws_the_approval_for_good")),
    Case(("tomcounsell/ai#2850",), "every decision carries the frozen commit, by the engine",
         ("test_a_gate_tells_its_review_and_takes_a_decision_on_it",
          "test_no_client_says_where_the_change_stands",
          "test_whatever_happens_to_reviewers_no_join_and_no_approval_lacks_what_it_needs")),
    Case(("lobu-ai/lobu#2311",), "a head that cannot be read is unknown, never current",
         ("test_an_unreachable_remote_is_told",
          "test_a_remote_that_never_answers_is_waited_for_only_so_long",
          "test_a_head_nobody_can_read_makes_no_join_that_is_presumed_current",
          "test_an_unreadable_head_refuses_the_approval_and_it_may_be_tried_again")),
    # Gates.
    Case(("microsoft/agent-framework#4618", "margince/margince#1689"),
         "one decision, however many clicks",
         ("test_a_gate_is_decided_once_and_a_double_click_gets_the_same_answer",
          "test_many_clicks_at_once_make_one_decision",
          "test_the_second_person_at_a_gate_is_too_late",
          "test_a_race_at_the_gate_has_one_outcome")),
    Case(("coleam00/Archon#2796",), "two clients see the same state and actions",
         ("test_both_clients_see_the_same_gate_and_the_same_actions",)),
    # Cancel, retry, resume.
    Case(("activeagents/activeagent#377",), "late facts after a cancel change nothing",
         ("test_late_facts_after_a_cancel_change_no_route",
          "test_report_of_a_canceled_run_is_refused")),
    Case(("paperclipai/paperclip#10656",), "a person's stop is never followed by a retry",
         ("test_a_persons_stop_is_never_followed_by_an_automatic_retry",
          "test_the_declared_retry_follows_its_kinds_and_never_a_persons_stop",
          "test_a_lost_session_that_cannot_be_proven_or_was_stopped_does_not_go_on_by_itself")),
    Case(("xintaofei/codeg#714",), "a retry is a new attempt with a thread of its own",
         ("test_a_retry_is_a_new_attempt_that_reports_for_itself",
          "test_report_of_an_attempt_that_was_retried_is_refused_and_the_new_one_may_report")),
    Case(("anthropics/claude-code#70291", "anthropics/claude-code#42905", "stablyai/orca#9361"),
         "a session goes on where it was; one that cannot is tried once, then not offered",
         ("test_a_resumed_session_goes_on_at_the_step_that_was_not_finished",
          "test_a_fresh_session_disguised_as_a_resume_is_refused",
          "test_a_resume_of_another_session_is_refused_and_offered_no_more",
          "test_a_resume_that_was_refused_is_asked_for_no_more_after_a_restart",
          "test_a_session_that_cannot_be_read_is_not_resumed")),
    # Schedules.
    Case(("anthropics/claude-code#82517",), "a slot starts one run, whoever looks and how often",
         ("test_a_slot_starts_one_run_however_often_it_is_looked_at_and_after_a_restart",
          "test_schedulers_beside_one_another_start_a_slot_once",
          "test_no_slot_is_started_twice_whatever_the_clock_does",
          "test_one_occurrence_of_a_host_makes_one_run_and_two_make_two")),
    Case(("openclaw/openclaw#42640", "NousResearch/hermes-agent#68211"),
         "after a restart an occurrence is the run that it was",
         ("test_a_crash_between_start_and_receipt_gets_the_same_run",
          "test_a_schedule_fires_while_a_server_runs_and_a_killed_server_starts_nothing_again")),
    Case(("anthropics/claude-code#82728",), "a dispatch receipt is no outcome",
         ("test_a_dispatch_receipt_is_no_outcome",)),
)  # fmt: skip

# Every report on the ends of turns, crashes, reviews, freshness, cancels and schedules.
COMPLETE: Final = """
    anthropics/claude-code#87836 anthropics/claude-code-action#1462
    anthropics/claude-code-action#1531 openai/codex#36141 openai/codex#15920 langgenius/mosoo#553
    chenhg5/cc-connect#1520 unfence-labs/hive#236 multica-ai/multica#1799 Tryanks/tcode#327
    open-mercato/cezar#1076 open-mercato/cezar:chain-integrity

    pingdotgg/t3code#8802 pingdotgg/t3code#8895 pingdotgg/t3code#10426 pingdotgg/t3code#4584
    pingdotgg/t3code#4452 saltbo/agent-kanban#229 mastra-ai/mastra#19191
    dbos-inc/dbos-transact-ts#725 open-mercato/cezar#998

    QwenLM/qwen-code#8846 nicobailon/pi-subagents#22 QuintinShaw/pi-dynamic-workflows#182
    open-ace/open-ace#2715 github/copilot-cli#4195 mattpocock/skills#845 sashiko-dev/sashiko#139
    forecast-bio/crosslink#317 indexable-inc/index#2764 anthropics/claude-code#77268
    anthropics/claude-code#91405 anthropics/claude-code#38287 anthropics/claude-code#79899
    smtg-ai/claude-squad#44

    DollhouseMCP/mcp-server#2557 tomcounsell/ai#2850 lobu-ai/lobu#2311
    microsoft/agent-framework#4618 margince/margince#1689 coleam00/Archon#2796

    activeagents/activeagent#377 paperclipai/paperclip#10656 xintaofei/codeg#714
    anthropics/claude-code#70291 anthropics/claude-code#42905 stablyai/orca#9361

    anthropics/claude-code#82517 openclaw/openclaw#42640 NousResearch/hermes-agent#68211
    anthropics/claude-code#82728
"""


@cache
def all_tests() -> frozenset[str]:
    """Return the names of all test functions of the project."""
    return frozenset(
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.reports[0])
def test_a_reported_failure_is_kept_away_by_tests_that_exist(case: Case) -> None:
    assert [name for name in case.tests if name not in all_tests()] == []


def test_every_report_is_named_once() -> None:
    named = [report for case in CASES for report in case.reports]
    assert len(named) == len(set(named))


def test_every_report_that_must_be_answered_has_a_row() -> None:
    named = {report for case in CASES for report in case.reports}
    assert [report for report in COMPLETE.split() if report not in named] == []
