-- A row is one gate_decided.
SELECT run_id, data->>'gate_id' AS gate_id, node, data->>'decision' AS decision,
  occurred_at AS decided_at, data->>'decided_by' AS decided_by, data->>'note' AS note,
  data->'comments' AS comments, data->>'commit' AS commit_id
FROM batch
WHERE kind = 'gate_decided'
