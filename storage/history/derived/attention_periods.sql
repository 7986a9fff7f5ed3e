-- A row is one time in which something waited for a person. What opens an item names the scopes
-- whose next event ends it: the run's end, the next visit, or what the item itself is about.
WITH about AS (
  SELECT *, regexp_replace(attempt_id, '\.[0-9]+$', '') AS tried_id,
    data->>'branch_id' AS branch_id, data->>'request_id' AS request_id
  FROM batch
  WHERE kind IN ('gate_requested', 'gate_decided', 'node_unresolved', 'branch_interrupted',
    'native_request_opened', 'native_request_answered', 'native_request_closed',
    'work_interrupted', 'cancel_requested', 'run_completed', 'run_failed', 'run_canceled',
    'node_entered', 'retry_requested', 'resume_requested', 'branch_ended', 'attempt_started',
    'review_again_requested', 'attempt_settled', 'attempt_timed_out', 'branch_deadline_passed')
), opened AS (
  SELECT run_id, position, sequence, occurred_at, node, visit_id || ':review' AS item_id,
    'awaiting_review' AS kind, NULL AS tried_id,
    ['run', 'visit', 'gate:' || visit_id] AS scopes
  FROM about WHERE kind = 'gate_requested'
  UNION ALL
  SELECT run_id, position, sequence, occurred_at, node,
    coalesce(branch_id, visit_id) || ':unresolved.' || sequence, 'unresolved',
    coalesce(branch_id, visit_id),
    ['run', 'visit', 'tried:' || coalesce(branch_id, visit_id)]
  FROM about WHERE kind IN ('node_unresolved', 'branch_interrupted')
  UNION ALL
  SELECT run_id, position, sequence, occurred_at, node,
    attempt_id || ':request.' || (data->>'$.request.request_id'), 'native_request', tried_id,
    ['run', 'visit', 'tried:' || tried_id, 'attempt:' || attempt_id,
      'request:' || attempt_id || ':' || (data->>'$.request.request_id')]
  FROM about WHERE kind = 'native_request_opened'
  UNION ALL
  SELECT run_id, position, sequence, occurred_at, node, attempt_id || ':processes',
    'processes_left', NULL, ['processes:' || attempt_id]
  FROM about WHERE kind = 'work_interrupted' AND CAST(data->>'left' AS BIGINT) > 0
), closing AS (
  SELECT run_id, position, sequence, occurred_at, unnest(CASE
    WHEN kind IN ('cancel_requested', 'run_completed', 'run_failed', 'run_canceled') THEN ['run']
    WHEN kind = 'node_entered' THEN ['visit']
    WHEN kind = 'gate_decided' THEN ['gate:' || visit_id]
    WHEN kind IN ('node_unresolved', 'retry_requested', 'review_again_requested')
      THEN ['tried:' || (data->>'visit_id')]
    WHEN kind IN ('branch_interrupted', 'branch_ended') THEN ['tried:' || branch_id]
    WHEN kind IN ('resume_requested', 'attempt_started') THEN ['tried:' || tried_id]
    WHEN kind = 'attempt_settled' THEN ['attempt:' || attempt_id]
    WHEN kind = 'attempt_timed_out' THEN ['attempt:' || attempt_id, 'late:' || attempt_id]
    WHEN kind = 'branch_deadline_passed' THEN ['deadline:' || branch_id]
    WHEN kind IN ('native_request_answered', 'native_request_closed')
      THEN ['request:' || attempt_id || ':' || request_id]
    WHEN kind = 'work_interrupted' THEN ['processes:' || attempt_id]
    END) AS scope
  FROM about
), unheard AS (
  -- What is asked by work that is being ended, nobody is shown.
  SELECT o.run_id, o.sequence
  FROM opened o JOIN closing c ON c.run_id = o.run_id AND c.sequence < o.sequence
    AND c.scope IN ('run', 'late:' || split_part(o.item_id, ':', 1), 'deadline:' || o.tried_id)
  WHERE o.kind = 'native_request'
), watched AS (
  SELECT *, unnest(CASE kind WHEN 'native_request'
    THEN list_append(scopes, 'deadline:' || tried_id) ELSE scopes END) AS scope
  FROM opened
), ended AS (
  SELECT w.run_id, w.sequence, min_by(struct_pack(place := c.position, at_time := c.occurred_at),
    c.sequence) AS ending
  FROM watched w JOIN closing c
    ON c.run_id = w.run_id AND c.scope = w.scope AND c.sequence > w.sequence
  GROUP BY ALL
)
SELECT o.run_id, o.item_id, o.kind, o.node,
  CASE WHEN regexp_matches(split_part(o.tried_id, '.', 4), '^[a-z]')
    THEN split_part(o.tried_id, '.', 4) END AS branch,
  o.occurred_at AS opened_at, e.ending.at_time AS closed_at,
  date_diff('millisecond', o.occurred_at, e.ending.at_time) AS waited_ms
FROM opened o LEFT JOIN ended e USING (run_id, sequence)
  ANTI JOIN unheard USING (run_id, sequence)
-- What one transition both opens and ends was never seen to wait.
WHERE e.ending IS NULL OR e.ending.place > o.position
