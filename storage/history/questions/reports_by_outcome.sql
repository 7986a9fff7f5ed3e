SELECT r.workflow_id, p.node, p.outcome, count(*) AS reports
FROM reports p JOIN runs r USING (run_id)
GROUP BY ALL
