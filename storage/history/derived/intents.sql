-- A row is one work order of an attempt or a check, from the event that owed it to its answer.
WITH owed AS (
  SELECT run_id, sequence, occurred_at, attempt_id, CASE kind
    WHEN 'attempt_started' THEN ['launch_execution', 'launch', 'launch']
    WHEN 'reminder_issued' THEN ['send_reminder', 'reminder', 'reminder']
    WHEN 'resume_requested' THEN
      ['resume_execution', 'resume.' || (data->>'number'), 'resume']
    WHEN 'native_request_answered' THEN ['answer_request', 'answer.' || (data->>'request_id'),
      'answer.' || (data->>'request_id')]
    WHEN 'check_started' THEN ['start_check', 'start', 'start']
    END AS ordered
  FROM batch
  WHERE kind IN ('attempt_started', 'reminder_issued', 'resume_requested',
    'native_request_answered', 'check_started')
), answers AS (
  SELECT run_id, sequence, occurred_at, attempt_id, CASE
    WHEN kind IN ('attempt_launched', 'attempt_refused') THEN 'launch'
    WHEN kind = 'reminder_delivered' THEN 'reminder'
    WHEN kind IN ('attempt_resumed', 'resume_refused') THEN 'resume'
    WHEN kind = 'turn_unknown' THEN data->>'turn'
    WHEN kind = 'native_request_closed' THEN 'answer.' || (data->>'request_id')
    WHEN kind IN ('check_launched', 'check_refused') THEN 'start'
    WHEN kind IN ('attempt_settled', 'attempt_timed_out', 'check_ended') THEN 'any'
    WHEN kind IN ('cancel_requested', 'run_canceled') THEN 'run'
    END AS scope,
    CASE
    WHEN kind IN ('attempt_refused', 'resume_refused', 'check_refused', 'turn_unknown')
      THEN 'refused'
    WHEN kind IN ('attempt_settled', 'attempt_timed_out', 'check_ended', 'cancel_requested',
      'run_canceled') THEN 'withdrawn'
    ELSE 'done' END AS outcome
  FROM batch
  WHERE kind IN ('attempt_launched', 'attempt_refused', 'reminder_delivered', 'attempt_resumed',
    'resume_refused', 'turn_unknown', 'native_request_closed', 'check_launched', 'check_refused',
    'attempt_settled', 'attempt_timed_out', 'check_ended', 'cancel_requested', 'run_canceled')
), closed AS (
  SELECT o.run_id, o.sequence,
    min_by(struct_pack(closed_at := a.occurred_at, outcome := a.outcome), a.sequence) AS ending
  FROM owed o JOIN answers a ON a.run_id = o.run_id AND a.sequence > o.sequence
    AND (a.scope = 'run'
      OR a.attempt_id = o.attempt_id AND (a.scope = 'any' OR a.scope = o.ordered[3]))
  GROUP BY ALL
)
SELECT o.run_id, 'wf:' || o.attempt_id || ':' || o.ordered[2] AS intent_id,
  o.ordered[1] AS kind, o.attempt_id AS subject_id, o.occurred_at AS opened_at,
  c.ending.closed_at AS closed_at, c.ending.outcome AS outcome
FROM owed o LEFT JOIN closed c USING (run_id, sequence)
