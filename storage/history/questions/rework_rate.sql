SELECT r.workflow_id,
  count(DISTINCT r.run_id) AS runs,
  count(DISTINCT r.run_id) FILTER (v.number > 1) AS runs_with_rework,
  count(v.visit_id) AS visits,
  count(*) FILTER (v.number > 1) AS repeated_visits,
  count(*) FILTER (v.number > 1) / nullif(count(v.visit_id), 0) AS rate
FROM runs r LEFT JOIN visits v ON v.run_id = r.run_id AND v.kind IN ('agent', 'check')
GROUP BY r.workflow_id
