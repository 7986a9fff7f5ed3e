SELECT r.workflow_id, t.from_node AS node, t.route, t.reason, t.to_node, count(*) AS times,
  count(*) / sum(count(*)) OVER (PARTITION BY r.workflow_id, t.from_node) AS share
FROM routes t JOIN runs r USING (run_id)
GROUP BY r.workflow_id, t.from_node, t.route, t.reason, t.to_node
