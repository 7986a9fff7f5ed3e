WITH visited AS (
  SELECT run_id, node, visit_id, count(DISTINCT exit_code = 0) AS outcomes
  FROM checks
  WHERE outcome = 'exited' AND NOT timed_out AND NOT interrupted
  GROUP BY ALL
  HAVING count(*) > 1
)
SELECT r.workflow_id, visited.node, count(*) AS visits_started_again,
  count(*) FILTER (outcomes > 1) AS visits_changed,
  count(*) FILTER (outcomes > 1) / count(*) AS rate
FROM visited JOIN runs r USING (run_id)
GROUP BY r.workflow_id, visited.node
