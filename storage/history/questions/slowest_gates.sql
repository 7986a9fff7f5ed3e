SELECT r.workflow_id, g.node,
  count(g.decision) AS decided,
  count(*) FILTER (g.decision IS NULL) AS undecided,
  median(g.waited_ms) / 1000 AS median_s,
  max(g.waited_ms) / 1000 AS longest_s
FROM gates g JOIN runs r USING (run_id)
GROUP BY ALL
ORDER BY longest_s DESC NULLS LAST
