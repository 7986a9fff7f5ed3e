-- A row is one gate_requested, with its decision.
WITH decided AS (
  SELECT visit_id, occurred_at AS decided_at, data->>'decision' AS decision
  FROM batch
  WHERE kind = 'gate_decided'
)
SELECT g.run_id, g.data->>'gate_id' AS gate_id, g.node, g.data->>'title' AS title,
  g.data->'offered' AS offered, g.data->>'head_commit' AS head_commit,
  g.occurred_at AS opened_at, d.decided_at, d.decision,
  date_diff('millisecond', g.occurred_at, d.decided_at) AS waited_ms
FROM batch g LEFT JOIN decided d USING (visit_id)
WHERE g.kind = 'gate_requested'
