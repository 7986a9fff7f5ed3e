-- A row is one run: its run_started, its last place, and the state that follows from the rest.
WITH facts AS (
  SELECT run_id, max_by(occurred_at, sequence) AS updated_at, count(*) AS events,
    min(occurred_at) FILTER (kind IN ('run_completed', 'run_failed', 'run_canceled')) AS ended_at,
    any_value(substr(kind, 5)) FILTER (kind IN ('run_completed', 'run_failed', 'run_canceled'))
      AS ended_as,
    bool_or(kind = 'cancel_requested') AS canceled,
    max_by(visit_id, sequence) FILTER (kind = 'node_entered') AS visit_id,
    max_by(node, sequence) FILTER (kind = 'node_entered') AS node,
    count(*) FILTER (kind = 'node_entered') AS visits
  FROM batch
  GROUP BY run_id
), waits AS (
  SELECT run_id,
    list(split_part(item_id, ':', 1)) FILTER (kind = 'unresolved') AS unresolved,
    list(split_part(item_id, ':', 1)) FILTER (kind = 'awaiting_review') AS gates
  FROM attention_periods
  WHERE run_id IN (FROM batch_runs) AND closed_at IS NULL
  GROUP BY run_id
), reviewers AS (
  SELECT visit_id, list(branch_id) AS branch_ids
  FROM branches
  WHERE run_id IN (FROM batch_runs) AND ended_at IS NULL
  GROUP BY visit_id
)
SELECT s.run_id, s.shard, s.data->>'$.workflow.id' AS workflow_id,
  s.data->>'$.workflow.name' AS workflow_name,
  s.data->>'definition_digest' AS definition_digest,
  s.data->>'definition_source' AS definition_source, s.data->>'repository' AS repository,
  s.data->>'base_commit' AS base_commit, s.data->>'base_branch' AS base_branch,
  s.data->'inputs' AS inputs, s.data->>'started_by' AS started_by, s.occurred_at AS started_at,
  f.updated_at, f.ended_at,
  CASE
    WHEN f.ended_as IS NOT NULL THEN f.ended_as
    WHEN f.canceled THEN 'canceled'
    WHEN list_contains(w.unresolved, f.visit_id) THEN 'unresolved'
    WHEN list_has_all(w.unresolved, b.branch_ids) THEN 'unresolved'
    WHEN list_contains(w.gates, f.visit_id) THEN 'awaiting_review'
    ELSE 'running'
  END AS state,
  f.node, f.visits, f.events,
  date_diff('millisecond', s.occurred_at, f.ended_at) AS duration_ms
FROM batch s
JOIN facts f USING (run_id)
LEFT JOIN waits w USING (run_id)
LEFT JOIN reviewers b ON b.visit_id = f.visit_id
WHERE s.kind = 'run_started'
