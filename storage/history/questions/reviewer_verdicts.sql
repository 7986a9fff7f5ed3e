SELECT r.workflow_id, b.node, b.branch, a.skill, count(*) AS branches,
  count(*) FILTER (b.outcome = 'completed') AS completed,
  count(*) FILTER (b.outcome = 'failed') AS failed,
  count(*) FILTER (b.outcome = 'unresolved') AS unresolved,
  count(*) FILTER (b.outcome = 'canceled') AS canceled
FROM branches b
JOIN runs r USING (run_id)
LEFT JOIN attempts a ON a.attempt_id = b.branch_id || '.1'
GROUP BY ALL
