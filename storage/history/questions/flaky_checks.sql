WITH judged AS (
  SELECT run_id, node, head_commit, count(DISTINCT exit_code = 0 AND NOT timed_out) AS outcomes
  FROM checks
  WHERE outcome = 'exited' AND NOT interrupted
  GROUP BY ALL
  HAVING count(*) > 1
)
SELECT r.workflow_id, judged.node, count(*) AS commits_checked_again,
  count(*) FILTER (outcomes > 1) AS commits_changed,
  count(*) FILTER (outcomes > 1) / count(*) AS rate
FROM judged JOIN runs r USING (run_id)
GROUP BY r.workflow_id, judged.node
