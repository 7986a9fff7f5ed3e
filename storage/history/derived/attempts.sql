-- A row is one attempt_started, with the last of what happened to it.
WITH started AS (
  SELECT run_id, data->'workflow' AS workflow FROM batch WHERE kind = 'run_started'
), tries AS (
  SELECT *, split_part(attempt_id, '.', 4) AS fourth FROM batch WHERE kind = 'attempt_started'
), placed AS (
  SELECT *, CASE WHEN regexp_matches(fourth, '^[a-z]') THEN fourth END AS branch FROM tries
), assigned AS (
  SELECT p.*, json_extract(s.workflow, '$.nodes."' || p.node || '"'
    || CASE WHEN branch IS NULL THEN '' ELSE '.branches."' || branch || '"' END
    || '.agent') AS agent
  FROM placed p JOIN started s USING (run_id)
), fates AS (
  SELECT attempt_id,
    min(occurred_at) FILTER (kind = 'attempt_launched') AS launched_at,
    min(occurred_at) FILTER (kind = 'report_accepted') AS reported_at,
    max_by(occurred_at, sequence) FILTER (kind = 'attempt_settled') AS settled_at,
    max_by(CASE kind WHEN 'attempt_refused' THEN 'refused' ELSE data->>'outcome' END, sequence)
      FILTER (kind IN ('attempt_settled', 'attempt_refused')) AS outcome,
    max_by(struct_pack(reason := data->>'reason'), sequence)
      FILTER (kind IN ('attempt_settled', 'attempt_refused')).reason AS reason,
    count(*) FILTER (kind = 'resume_requested') AS resumes,
    count(*) FILTER (kind = 'reminder_issued') > 0 AS reminded,
    count(*) FILTER (kind = 'attempt_timed_out'
      OR kind = 'attempt_settled' AND data->>'outcome' = 'timed_out') > 0 AS timed_out
  FROM batch
  WHERE attempt_id IS NOT NULL
  GROUP BY attempt_id
)
SELECT a.run_id, a.attempt_id, a.node, a.visit_id, a.branch,
  CAST(a.data->>'try_number' AS BIGINT) AS try_number,
  a.agent->>'provider' AS provider, a.agent->>'skill' AS skill,
  a.occurred_at AS started_at, f.launched_at, f.reported_at, f.settled_at,
  f.outcome, f.reason, f.resumes, f.reminded, f.timed_out,
  date_diff('millisecond', f.launched_at, f.settled_at) AS duration_ms
FROM assigned a JOIN fates f USING (attempt_id)
