"""Starting, canceling and advancing a run."""

from pointsman.graph.canonical import digest
from pointsman.graph.commands import CancelRun, StartRun
from pointsman.graph.events import CancelRequested, RunStarted
from pointsman.graph.rejections import Rejected, RejectionCode
from pointsman.graph.replies import Accepted, Reply, Verdict
from pointsman.graph.run import Run


def start_run(command: StartRun) -> Verdict:
    """Create the run. The caller has validated definition, input and capabilities."""
    started = RunStarted(
        run_id=command.run_id,
        workflow=command.workflow,
        definition_digest=digest(command.workflow.model_dump(mode="json", exclude_none=True)),
        definition_source=command.definition_source,
        inputs=command.inputs,
        repository=command.repository,
        base_commit=command.base_commit,
        base_branch=command.base_branch,
        left_out=command.left_out,
        skills=command.skills,
        started_by=command.started_by,
    )
    return Accepted(events=(started,), reply=Reply(run_id=command.run_id))


def cancel_run(run: Run, command: CancelRun) -> Verdict:
    """Cancel wins every race: from its commit on nothing is launched (spec, *Human gates*)."""
    if run.cancellation is not None:
        return Rejected(code=RejectionCode.CANCELLED, message="the run is canceled already")
    event = CancelRequested(reason=command.reason, requested_by=command.requested_by)
    return Accepted(events=(event,), reply=Reply(run_id=run.run_id))
