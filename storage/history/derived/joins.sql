-- A row is one join_committed.
SELECT run_id, node, visit_id, data->>'review_set_id' AS review_set_id,
  data->>'frozen_commit' AS frozen_commit, occurred_at AS joined_at, data->>'outcome' AS outcome,
  json_array_length(data->'branches') AS branches, data->>'detail' AS detail
FROM batch
WHERE kind = 'join_committed'
