"""Commands by which a person acts on what a run offers: decide, answer, resume, retry, cancel.

What is asked for is looked up among the allowed actions of the run as it is shown, with the
revision and the review that it was shown with; with several reviewers a branch says whose.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pointsman.graph.allowed import Action, AllowedAction
from pointsman.graph.problem import listed
from pointsman.graph.results import GateComment
from pointsman.runtime.cli import acting, names, rendering
from pointsman.runtime.cli.background import ensure_server
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.reach import reading
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.queries import RunView
from pointsman.runtime.wire import actions as acts

_CANCEL_WAIT_S: Final = 60.0

Asked = Callable[[AllowedAction, str, str], acts.ActionRequest]
"""Makes the request of an offered action, for a person and under a command id."""


def decision(
    note: str | None = None, comments: Sequence[GateComment] = (), roles: Sequence[str] = ()
) -> Asked:
    """Decide the gate that was shown, relying on the review that was shown."""

    def asked(allowed: AllowedAction, person: str, command_id: str) -> acts.GateRequest:
        return acts.GateRequest.model_validate(
            {
                "command_id": command_id,
                "gate_id": allowed.target,
                "revision": _revision(allowed),
                "review_set_id": allowed.review_set_id,
                "decision": allowed.action.value,
                "note": note,
                "comments": list(comments),
                "decided_by": person,
                "roles": list(roles),
            }
        )

    return asked


def resumption(allowed: AllowedAction, person: str, command_id: str) -> acts.ResumeRequest:
    """Let the interrupted native session go on."""
    return acts.ResumeRequest(
        command_id=command_id,
        attempt_id=allowed.target,
        revision=_revision(allowed),
        requested_by=person,
    )


def new_attempt(allowed: AllowedAction, person: str, command_id: str) -> acts.RetryRequest:
    """Have the unresolved visit, or the interrupted reviewer, tried again."""
    return acts.RetryRequest(
        command_id=command_id,
        visit_id=allowed.target,
        revision=_revision(allowed),
        requested_by=person,
    )


def new_review(allowed: AllowedAction, person: str, command_id: str) -> acts.ReviewAgainRequest:
    """Have the change reviewed anew."""
    return acts.ReviewAgainRequest(
        command_id=command_id,
        visit_id=allowed.target,
        revision=_revision(allowed),
        requested_by=person,
    )


def reply(*, allow: bool, text: str | None) -> Asked:
    """Answer what the agent asks; the first open question, if it asks several."""

    def asked(allowed: AllowedAction, person: str, command_id: str) -> acts.AnswerRequest:
        assert allowed.request_id is not None, f"{allowed.target} offers an answer to nothing"
        return acts.AnswerRequest(
            command_id=command_id,
            attempt_id=allowed.target,
            request_id=allowed.request_id,
            allow=allow,
            answered_by=person,
            text=text,
        )

    return asked


def act(
    call: Invocation,
    name: str,
    action: Action,
    asked: Asked,
    *,
    branch: str | None = None,
    person: str | None = None,
    looked_at: Callable[[RunView], None] | None = None,
    detach: bool,
) -> int:
    """Do one offered action, then follow the run; with ``detach`` answer when it is durable.

    ``looked_at`` may refuse the run as it is shown.
    """
    if person is not None and not person.strip():
        raise PointsmanError("usage_invalid", "--as is empty: say who decides")
    # Looked at before a server is started: a refusal should take no seconds.
    with reading(call.data) as reader:
        run_id = names.resolve_run(name, reader)
        view = reader.run(run_id)
        allowed = offered(call, view, action, branch)
        if looked_at is not None:
            looked_at(view)
    if detach:
        ensure_server(call.data, call.terminal)
    with acting.in_reach(call) as reach:
        from pointsman.runtime.client import new_command_id

        request = asked(allowed, person or names.person(), new_command_id())
        follower = acting.follow_on(call, reach, run_id)
        reach.ask(lambda client: client.act(run_id, request))
        if detach:
            return acting.detached(call, reach.client.run(run_id))
        with acting.resumable(call, run_id):
            view = follower.until_rest()
    return acting.rested(call, view)


def cancel(call: Invocation, name: str, reason: str | None) -> int:
    """End a run; answers when its processes are gone, or tells which are not."""
    with reading(call.data) as reader:
        run_id = names.resolve_run(name, reader)
        offered(call, reader.run(run_id), Action.CANCEL)
    with acting.in_reach(call) as reach:
        from pointsman.runtime.client import new_command_id

        command_id = new_command_id()
        reply = reach.ask(
            lambda client: client.cancel(
                run_id,
                requested_by=names.person(),
                command_id=command_id,
                reason=reason,
                wait_s=_CANCEL_WAIT_S,
            )
        )
        view = reach.client.run(run_id)
    left = {**dict.fromkeys(reply.still_ending, -1), **reply.processes_left}
    if call.terminal.json:
        call.terminal.document(rendering.outcome(call, view) | {"still_ending": sorted(left)})
    elif left:
        call.terminal.show(f"Canceled; processes of {listed(left)} could not be ended yet.")
    else:
        call.terminal.show("Canceled: nothing of it runs any more. Its branch is kept.")
    return ExitCode.NEEDS_PERSON if left else ExitCode.OK


def offered(
    call: Invocation, view: RunView, action: Action, branch: str | None = None
) -> AllowedAction:
    """Return the action as the run's state offers it.

    Raises ``not_allowed`` or ``run_ended``, and ``usage_invalid`` if it is offered for several
    reviewers and none is named, or another one is.
    """
    found = [each for each in view.allowed_actions if each.action is action]
    if not found:
        raise _not_offered(call, view)
    places = {rendering.place_in_words(each): each for each in reversed(found)}
    if branch is None and len(places) == 1:
        return found[0]
    if branch in places:
        return places[branch]
    choices = sorted(places)
    what = action.value.replace("_", " ")
    if branch is not None:
        message = f"{what} is not offered for {branch[:80]!r}; it is for: {listed(choices)}"
    else:
        message = f"{what} is offered for {listed(choices)}; say which: --branch NAME"
    raise PointsmanError("usage_invalid", message, {"branches": choices})


def _not_offered(call: Invocation, view: RunView) -> PointsmanError:
    if view.ended_at is not None:
        return PointsmanError("run_ended", f"run {view.run_id} has ended: it is {view.state}")
    actions = list(dict.fromkeys(each.action.value for each in view.allowed_actions))
    steps = [command for _, command in rendering.next_steps(call, view)]
    follow = steps[0] if steps else call.next_command("show", names.short(view.run_id))
    return PointsmanError(
        "not_allowed",
        f"run {view.run_id} is {view.state}; it allows: {listed(actions)}. Next:  {follow}",
        {"state": view.state, "allowed": actions},
    )


def _revision(allowed: AllowedAction) -> int:
    assert allowed.revision is not None, f"{allowed.action} needs a revision"
    return allowed.revision
