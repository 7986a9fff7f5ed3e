-- A row is one time in which something was owed to the host. Orders follow from the state of a run,
-- so what opens one, and what answers or ends it, are the events that change this state.
WITH started AS (
  SELECT run_id, data->'workflow' AS workflow FROM batch WHERE kind = 'run_started'
), told AS (
  -- All that is read of an event, at once: reading JSON is the dearest part.
  SELECT run_id, sequence, position, occurred_at, kind, node, visit_id, attempt_id,
    data->>['workspace_key', 'branch_id', 'unknown', 'request_id', 'turn', 'outcome', 'moment',
      'misfit', 'visit_id', '$.checkout.unreadable', '$.work.attempt_id'] AS said
  FROM batch
  WHERE kind IN ('node_entered', 'node_unresolved', 'retry_requested', 'workspace_prepared',
    'workspace_refused', 'workspace_released', 'attempt_started', 'attempt_launched',
    'attempt_refused', 'attempt_settled', 'attempt_timed_out', 'resume_requested',
    'resume_refused', 'attempt_resumed', 'reminder_issued', 'reminder_delivered', 'turn_unknown',
    'native_request_answered', 'native_request_closed', 'work_interrupted', 'check_started',
    'check_launched', 'check_refused', 'check_ended', 'change_frozen', 'change_refused',
    'checkout_verified', 'head_compared', 'branch_deadline_passed', 'branch_ended',
    'cancel_requested', 'run_completed', 'run_failed', 'run_canceled')
), named AS (
  SELECT * EXCLUDE said, said[1] AS key, said[3] AS unknown, said[4] AS request_id,
    said[5] AS turn, said[6] AS outcome, said[7] AS moment, coalesce(said[8], said[10]) AS unfit,
    said[9] AS tried_id, said[11] AS worked_id, CASE
    WHEN kind IN ('branch_ended', 'branch_deadline_passed', 'checkout_verified') THEN said[2]
    WHEN starts_with(kind, 'workspace_') AND NOT ends_with(said[1], ':primary')
      THEN substr(said[1], 4)
    WHEN regexp_matches(split_part(attempt_id, '.', 4), '^[a-z]')
      THEN regexp_replace(attempt_id, '\.[0-9]+$', '')
    END AS branch_id
  FROM told
), about AS (
  SELECT *,
    count(*) FILTER (kind = 'resume_requested') OVER of_work AS resumes,
    last_value(CASE
      WHEN kind IN ('attempt_started', 'attempt_launched', 'resume_requested', 'check_started',
        'check_launched') THEN true
      WHEN kind IN ('attempt_refused', 'check_refused') THEN CAST(unknown AS BOOLEAN)
      WHEN kind IN ('attempt_settled', 'resume_refused', 'work_interrupted', 'check_ended',
        'branch_ended') THEN false
      END IGNORE NULLS) OVER of_work AS may_run,
    count(*) FILTER (kind = 'workspace_prepared' AND branch_id IS NULL) OVER of_run > 0 AS is_made,
    count(*) FILTER (kind = 'workspace_refused' AND branch_id IS NULL) OVER of_run AS refusals,
    count(*) FILTER (kind = 'cancel_requested') OVER of_run > 0 AS is_canceled
  FROM named
  WINDOW of_run AS (PARTITION BY run_id ORDER BY sequence),
    of_work AS (PARTITION BY run_id, attempt_id ORDER BY sequence)
), live AS (
  FROM about WHERE NOT is_canceled
), turns AS (
  -- A visit begins, or is tried again, or has seen the head it relies on.
  SELECT a.*,
    json_extract_string(s.workflow, '$.nodes."' || a.node || '".kind') AS node_kind,
    json_extract_string(s.workflow, '$.nodes."' || a.node || '".review') AS review,
    count(*) FILTER (a.kind = 'retry_requested')
      OVER (PARTITION BY a.run_id, a.visit_id ORDER BY a.sequence) + 1 AS tries
  FROM live a JOIN started s USING (run_id)
  WHERE a.kind IN ('node_entered', 'head_compared')
    OR a.kind = 'retry_requested' AND a.tried_id = a.visit_id
), reviews AS (
  SELECT c.run_id, c.sequence, c.visit_id AS review_set_id,
    json_extract_string(s.workflow, '$.nodes."' || c.node || '".join') AS joined_at
  FROM about c JOIN started s USING (run_id)
  WHERE c.kind = 'change_frozen'
), fates AS (
  SELECT run_id, sequence, data->>'review_set_id' AS review_set_id, data->>'outcome' AS outcome
  FROM batch
  WHERE kind = 'join_committed' OR kind = 'head_compared' AND (data->>'head') IS NOT NULL
    AND (data->>'head' <> data->>'frozen_commit' OR CAST(data->>'returned' AS BOOLEAN))
), relied AS (
  -- The latest review before a turn that relies on one.
  SELECT t.run_id, t.sequence, t.node_kind, r.review_set_id
  FROM turns t ASOF JOIN reviews r ON r.run_id = t.run_id AND r.sequence < t.sequence
    AND r.joined_at = CASE t.node_kind WHEN 'join' THEN t.node ELSE t.review END
  WHERE t.kind <> 'head_compared' AND t.node_kind <> 'gate'
), heads AS (
  -- It must not have been overtaken, and have completed unless it is joined here.
  SELECT t.run_id, t.sequence
  FROM relied t LEFT JOIN fates f ON f.run_id = t.run_id
    AND f.review_set_id = t.review_set_id AND f.sequence < t.sequence
  GROUP BY t.run_id, t.sequence, t.node_kind
  HAVING count(f.sequence) FILTER (f.outcome IS DISTINCT FROM 'all_completed') = 0
    AND (count(f.sequence) > 0 OR t.node_kind = 'join')
), due AS (
  SELECT t.*, h.sequence IS NOT NULL AS reads_head
  FROM turns t LEFT JOIN heads h USING (run_id, sequence)
), ended AS (
  -- All work that may run when a run is canceled or a reviewer's deadline comes.
  SELECT e.run_id, e.sequence, e.position, e.occurred_at, w.attempt_id, w.branch_id,
    max(w.resumes) AS resumes, bool_or(w.kind = 'check_started') AS is_check
  FROM about e JOIN about w ON w.run_id = e.run_id AND w.sequence < e.sequence
    AND (e.kind = 'cancel_requested' OR w.branch_id = e.branch_id)
  WHERE e.kind IN ('cancel_requested', 'branch_deadline_passed') AND w.attempt_id IS NOT NULL
  GROUP BY ALL
  HAVING max_by(w.may_run, w.sequence)
    AND (any_value(e.kind) = 'cancel_requested' OR bool_or(w.kind = 'checkout_verified'))
), orders AS (
  SELECT run_id, sequence, position, occurred_at, 'read_head' AS kind, visit_id AS subject_id,
    'head.' || tries AS act, ['head:' || visit_id, 'visit', 'cancel'] AS scopes,
    CASE WHEN NOT is_made AND node_kind IN ('agent', 'check') THEN 'wf:' || run_id || ':primary' END
      AS key
  FROM due WHERE reads_head
  UNION ALL
  SELECT run_id, sequence, position, occurred_at, 'freeze_change', visit_id, 'freeze.' || tries,
    ['freeze:' || visit_id, 'visit', 'cancel'], NULL
  FROM due WHERE node_kind = 'parallel'
  UNION ALL
  SELECT run_id, sequence, position, occurred_at, 'prepare_workspace',
    'wf:' || run_id || ':primary', 'prepare.' || (refusals + 1),
    ['workspace:wf:' || run_id || ':primary', 'visit', 'cancel'], 'wf:' || run_id || ':primary'
  FROM due WHERE node_kind IN ('agent', 'check') AND NOT reads_head AND NOT is_made
  UNION ALL
  SELECT run_id, sequence, position, occurred_at, 'prepare_workspace', 'wf:' || branch_id,
    'prepare.1', ['workspace:wf:' || branch_id, 'branch:' || branch_id, 'cancel'],
    'wf:' || branch_id
  FROM live WHERE kind = 'attempt_started' AND attempt_id = branch_id || '.1'
  UNION ALL
  SELECT run_id, sequence, position, occurred_at, 'verify_checkout',
    coalesce(attempt_id, branch_id || '.1'), 'verify.launch.0',
    ['verify:' || coalesce(attempt_id, branch_id || '.1'), 'branch:' || branch_id, 'cancel'], NULL
  FROM live
  WHERE kind = 'workspace_prepared' AND branch_id IS NOT NULL
    OR kind = 'attempt_started' AND attempt_id <> branch_id || '.1'
  UNION ALL
  SELECT run_id, sequence, position, occurred_at, 'verify_checkout', attempt_id,
    'verify.settlement.' || resumes, ['verify:' || attempt_id, 'branch:' || branch_id, 'cancel'],
    NULL
  FROM live
  WHERE kind = 'attempt_settled' AND branch_id IS NOT NULL AND outcome = 'succeeded'
    AND attempt_id IN (SELECT attempt_id FROM batch
      WHERE kind = 'report_accepted' AND data->>'outcome' = 'completed')
  UNION ALL
  SELECT run_id, sequence, position, occurred_at, CASE kind
    WHEN 'reminder_issued' THEN 'send_reminder'
    WHEN 'resume_requested' THEN 'resume_execution'
    WHEN 'native_request_answered' THEN 'answer_request'
    WHEN 'check_started' THEN 'start_check'
    ELSE 'launch_execution' END, attempt_id, CASE kind
    WHEN 'reminder_issued' THEN 'reminder'
    WHEN 'resume_requested' THEN 'resume.' || resumes
    WHEN 'native_request_answered' THEN 'answer.' || request_id
    WHEN 'check_started' THEN 'start'
    ELSE 'launch' END, [CASE kind
    WHEN 'reminder_issued' THEN 'reminder:'
    WHEN 'resume_requested' THEN 'resume:'
    WHEN 'native_request_answered' THEN 'answer.' || request_id || ':'
    ELSE 'launch:' END || attempt_id,
    'over:' || attempt_id, 'deadline:' || branch_id, 'branch:' || branch_id, 'cancel'], NULL
  FROM live
  WHERE kind IN ('reminder_issued', 'resume_requested', 'native_request_answered', 'check_started')
    OR kind = 'attempt_started' AND branch_id IS NULL
    OR kind = 'checkout_verified' AND moment = 'launch' AND unfit IS NULL
), answers AS (
  SELECT run_id, sequence, position, occurred_at, unnest(CASE
    WHEN kind IN ('attempt_launched', 'check_launched') THEN [('launch:' || attempt_id, 'done')]
    WHEN kind IN ('attempt_refused', 'check_refused') THEN [('launch:' || attempt_id, 'refused')]
    WHEN kind = 'reminder_delivered' THEN [('reminder:' || attempt_id, 'done')]
    WHEN kind = 'attempt_resumed' THEN [('resume:' || attempt_id, 'done')]
    WHEN kind = 'resume_refused' THEN [('resume:' || attempt_id, 'refused')]
    WHEN kind = 'native_request_closed'
      THEN [('answer.' || request_id || ':' || attempt_id, 'done')]
    WHEN kind = 'work_interrupted' THEN [('interrupted:' || attempt_id, 'done')]
    WHEN kind = 'workspace_prepared'
      THEN [('workspace:' || key, 'done'), ('made:' || key, 'withdrawn')]
    WHEN kind = 'workspace_refused' THEN [('workspace:' || key, 'refused')]
    WHEN kind = 'workspace_released' THEN [('released:' || key, 'done')]
    WHEN kind = 'change_frozen' THEN [('freeze:' || visit_id, 'done')]
    WHEN kind = 'change_refused' THEN [('freeze:' || visit_id, 'refused')]
    WHEN kind = 'checkout_verified' THEN [('verify:' || attempt_id, 'done')]
    WHEN kind = 'head_compared' THEN [('head:' || visit_id, 'done')]
    WHEN kind = 'branch_deadline_passed' THEN [('deadline:' || branch_id, 'withdrawn')]
    WHEN kind = 'branch_ended' THEN [('branch:' || branch_id, 'withdrawn')]
    WHEN kind = 'attempt_timed_out' THEN [('over:' || attempt_id, 'withdrawn')]
    WHEN kind = 'turn_unknown'
      THEN [(turn || ':' || attempt_id, 'refused'), ('over:' || attempt_id, 'withdrawn')]
    -- The host does not observe work whose reminder it refuses.
    WHEN kind = 'attempt_settled' AND worked_id IS NULL THEN
      [('reminder:' || attempt_id, 'refused'), ('over:' || attempt_id, 'withdrawn'),
        ('settled:' || attempt_id, 'withdrawn')]
    WHEN kind IN ('attempt_settled', 'check_ended')
      THEN [('over:' || attempt_id, 'withdrawn'), ('settled:' || attempt_id, 'withdrawn')]
    WHEN kind = 'cancel_requested' THEN [('cancel', 'withdrawn')]
    WHEN kind IN ('node_entered', 'node_unresolved', 'run_completed', 'run_failed')
      THEN [('visit', 'withdrawn')]
    END) AS answer
  FROM about
), endings AS (
  SELECT run_id, sequence, position, occurred_at, 'interrupt_execution' AS kind,
    attempt_id AS subject_id, 'interrupt.' || resumes AS act,
    ['interrupted:' || attempt_id, 'settled:' || attempt_id, 'branch:' || branch_id] AS scopes
  FROM about
  WHERE may_run AND kind IN ('attempt_timed_out', 'attempt_refused', 'turn_unknown')
  UNION ALL
  SELECT run_id, sequence, position, occurred_at, 'cancel_check', attempt_id, 'cancel',
    ['interrupted:' || attempt_id, 'settled:' || attempt_id]
  FROM about WHERE may_run AND kind = 'check_refused'
  UNION ALL
  SELECT run_id, sequence, position, occurred_at,
    CASE WHEN is_check THEN 'cancel_check' ELSE 'interrupt_execution' END, attempt_id,
    CASE WHEN is_check THEN 'cancel' ELSE 'interrupt.' || resumes END,
    ['interrupted:' || attempt_id, 'settled:' || attempt_id, 'branch:' || branch_id]
  FROM ended
  UNION ALL
  SELECT run_id, sequence, position, occurred_at, 'release_workspace', 'wf:' || branch_id,
    'release', ['released:wf:' || branch_id, 'cancel']
  FROM about WHERE kind = 'branch_ended'
  UNION ALL
  -- What was about to be made may have been made.
  SELECT DISTINCT c.run_id, c.sequence, c.position, c.occurred_at, 'release_workspace', o.key,
    'release', ['released:' || o.key, 'made:' || o.key]
  FROM about c JOIN orders o ON o.run_id = c.run_id AND o.sequence < c.sequence
  WHERE c.kind = 'cancel_requested' AND o.key IS NOT NULL AND NOT EXISTS (
    FROM answers a WHERE a.run_id = o.run_id AND list_contains(o.scopes, a.answer[1])
      AND a.sequence > o.sequence AND a.sequence < c.sequence)
  UNION ALL
  SELECT DISTINCT e.run_id, e.sequence, e.position, e.occurred_at, 'release_workspace', k.key,
    'release', ['released:' || k.key]
  FROM about e JOIN (
    SELECT run_id, sequence, 'wf:' || branch_id AS key FROM about
    WHERE kind = 'attempt_started' AND branch_id IS NOT NULL
    UNION ALL
    SELECT run_id, sequence, 'wf:' || run_id || ':primary' FROM turns
    WHERE node_kind IN ('agent', 'check')
  ) k ON k.run_id = e.run_id AND k.sequence < e.sequence
  WHERE e.kind IN ('run_completed', 'run_failed', 'run_canceled') AND NOT EXISTS (
    FROM about r WHERE r.kind = 'workspace_released' AND r.key = k.key AND r.sequence < e.sequence)
), watched AS (
  SELECT *, unnest(scopes) AS scope FROM (
    SELECT * EXCLUDE key FROM orders UNION ALL BY NAME FROM endings
  )
), owed AS (
  SELECT w.* EXCLUDE scope,
    min_by(struct_pack(place := a.position, number := a.sequence, closed_at := a.occurred_at,
      outcome := a.answer[2]), a.sequence * 2 + CAST(a.answer[2] = 'withdrawn' AS INTEGER)) AS ending
  FROM watched w LEFT JOIN answers a
    ON a.run_id = w.run_id AND a.answer[1] = w.scope AND a.sequence > w.sequence
  GROUP BY ALL
)
SELECT run_id,
  CASE WHEN starts_with(subject_id, 'wf:') THEN '' ELSE 'wf:' END || subject_id || ':' || act
    AS intent_id,
  kind, subject_id, min(occurred_at) AS opened_at,
  any_value(ending.closed_at) AS closed_at, any_value(ending.outcome) AS outcome
FROM owed
-- What one transition both opens and ends was never owed; what is owed for two reasons is one order.
WHERE ending IS NULL OR ending.place > position
GROUP BY run_id, kind, subject_id, act, ending.number
