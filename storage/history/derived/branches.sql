-- A row is one branch of a review_forked, with its end.
WITH forked AS (
  SELECT *, unnest(from_json(data->'branches', '[{"branch":"VARCHAR","branch_id":"VARCHAR"}]'))
    AS forked
  FROM batch
  WHERE kind = 'review_forked'
), ended AS (
  SELECT data->>'branch_id' AS branch_id, occurred_at AS ended_at, data->>'outcome' AS outcome,
    data->>'reason' AS reason
  FROM batch
  WHERE kind = 'branch_ended'
)
SELECT f.run_id, f.forked.branch_id AS branch_id, f.node, f.visit_id, f.forked.branch AS branch,
  f.data->>'review_set_id' AS review_set_id, f.data->>'frozen_commit' AS frozen_commit,
  f.occurred_at AS forked_at, e.ended_at, e.outcome, e.reason,
  date_diff('millisecond', f.occurred_at, e.ended_at) AS duration_ms
FROM forked f LEFT JOIN ended e ON e.branch_id = f.forked.branch_id
