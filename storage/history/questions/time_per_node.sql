SELECT r.workflow_id, v.node, v.kind, count(*) AS visits,
  sum(v.duration_ms) / 1000 AS total_s,
  median(v.duration_ms) / 1000 AS median_s,
  max(v.duration_ms) / 1000 AS longest_s
FROM visits v JOIN runs r USING (run_id)
WHERE v.left_at IS NOT NULL
GROUP BY ALL
