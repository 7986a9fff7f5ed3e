-- A row is one check_started, with how it ended.
WITH fates AS (
  SELECT attempt_id,
    min(occurred_at) FILTER (kind = 'check_launched') AS launched_at,
    max_by(occurred_at, sequence) FILTER (kind IN ('check_ended', 'check_refused')) AS ended_at,
    max_by(CASE kind WHEN 'check_refused' THEN 'refused' ELSE data->>'$.state.state' END, sequence)
      FILTER (kind IN ('check_ended', 'check_refused')) AS outcome,
    max_by(data->'state', sequence) FILTER (kind = 'check_ended') AS ending
  FROM batch
  WHERE kind IN ('check_launched', 'check_ended', 'check_refused')
  GROUP BY attempt_id
), started AS (
  SELECT *,
    last_value(CASE kind WHEN 'attempt_settled' THEN data->>'$.work.head_commit'
      ELSE data->>'frozen_commit' END IGNORE NULLS)
      OVER (PARTITION BY run_id ORDER BY sequence) AS head_commit
  FROM batch
  WHERE kind IN ('check_started', 'attempt_settled', 'change_frozen')
    -- A reviewer's worktree, and a change from elsewhere, are not the run's own.
    AND NOT regexp_matches(split_part(coalesce(attempt_id, ''), '.', 4), '^[a-z]')
    AND coalesce(data->>'$.change.source', 'workspace') = 'workspace'
)
SELECT s.run_id, s.attempt_id AS check_id, s.node, s.visit_id,
  CAST(s.data->>'try_number' AS BIGINT) AS try_number, s.occurred_at AS started_at,
  f.launched_at, f.ended_at, f.outcome,
  CAST(f.ending->>'exit_code' AS BIGINT) AS exit_code,
  CAST(f.ending->>'timed_out' AS BOOLEAN) AS timed_out,
  CAST(f.ending->>'interrupted' AS BOOLEAN) AS interrupted,
  CAST(f.ending->>'duration_s' AS DOUBLE) AS duration_s, s.head_commit
FROM started s LEFT JOIN fates f USING (attempt_id)
WHERE s.kind = 'check_started'
