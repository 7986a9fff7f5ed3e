SELECT r.workflow_id, e.node, e.data->>'reason' AS reason, count(*) AS times,
  count(DISTINCT e.run_id) AS runs
FROM events e JOIN runs r USING (run_id)
WHERE e.kind = 'node_unresolved'
GROUP BY ALL
