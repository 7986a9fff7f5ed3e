-- A row is one report_accepted.
SELECT run_id, attempt_id, node, visit_id,
  CASE WHEN regexp_matches(split_part(attempt_id, '.', 4), '^[a-z]')
    THEN split_part(attempt_id, '.', 4) END AS branch,
  data->>'receipt_id' AS receipt_id, occurred_at AS accepted_at, data->>'outcome' AS outcome,
  data->>'summary' AS summary, data->'data' AS data, data->'evidence' AS evidence
FROM batch
WHERE kind = 'report_accepted'
