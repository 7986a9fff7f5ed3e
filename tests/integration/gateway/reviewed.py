"""A workflow with two reviewers, and their part of the work."""

from typing import Any

from tests.harness.core import envelope
from tests.harness.gateway import GatewayServer

REVIEWED = """
pointsman: 1
id: reviewed
name: Reviewed
entry: implement
nodes:
  implement: {kind: agent, agent: {provider: scripted}, instructions: Do it., next: reviewers}
  reviewers:
    kind: parallel
    freeze: workspace
    branches:
      code:
        agent: {provider: scripted, mode: review}
        focus: bugs
        report: {fields: {blockers: {type: number, required: true}}}
      ux:
        agent: {provider: scripted, mode: review}
        focus: words
        report: {fields: {readable: {type: boolean, required: true}}}
    join: review
  review: {kind: join, of: reviewers, next: approve}
  approve: {kind: gate, title: Approve, review: review, decisions: {approve: done}}
  done: {kind: end}
"""
DATA: dict[str, dict[str, Any]] = {"code": {"blockers": 0}, "ux": {"readable": True}}


def complete(server: GatewayServer, *branches: str, visit: int = 1) -> None:
    for branch in branches:
        launched = server.host.launched(f"reviewers.{visit}.{branch}.1")
        server.report(launched.token, envelope(data=DATA[branch]))
        server.host.finish(launched.attempt_id)
