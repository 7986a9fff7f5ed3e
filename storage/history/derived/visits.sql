-- A row is one node_entered, with what happened to the visit until the run went on or ended.
WITH started AS (
  SELECT run_id, data->'workflow' AS workflow FROM batch WHERE kind = 'run_started'
), places AS (
  SELECT *, lead(occurred_at) OVER (PARTITION BY run_id ORDER BY sequence) AS left_at
  FROM batch
  WHERE kind IN ('node_entered', 'run_completed', 'run_failed', 'run_canceled')
), fates AS (
  SELECT visit_id,
    max_by(occurred_at, sequence) FILTER (kind = 'node_completed') AS completed_at,
    count(*) FILTER (kind = 'retry_requested') AS retries,
    count(*) FILTER (kind = 'node_unresolved') AS unresolved,
    max_by(data->>'reason', sequence) FILTER (kind = 'node_unresolved') AS unresolved_reason,
    max_by(data->'result', sequence) FILTER (kind = 'node_completed') AS result
  FROM batch
  WHERE kind IN ('node_completed', 'retry_requested', 'node_unresolved')
  GROUP BY visit_id
)
SELECT p.run_id, p.visit_id, p.node,
  json_extract_string(s.workflow, '$.nodes."' || p.node || '".kind') AS kind,
  CAST(p.data->>'number' AS BIGINT) AS number,
  p.occurred_at AS entered_at, f.completed_at, p.left_at,
  date_diff('millisecond', p.occurred_at, p.left_at) AS duration_ms,
  coalesce(f.retries, 0) AS retries, coalesce(f.unresolved, 0) AS unresolved,
  f.unresolved_reason, nullif(f.result, 'null') AS result
FROM places p
JOIN started s USING (run_id)
LEFT JOIN fates f USING (visit_id)
WHERE p.kind = 'node_entered'
