-- A row is one stored event; who it is about is read from its ids, which tell node and visit.
WITH stored AS (
  SELECT unnest(from_json($events, '[{"position":"BIGINT","stored":
    {"run_id":"VARCHAR","sequence":"BIGINT","at_ms":"BIGINT","event":"JSON"}}]')) AS entry
), named AS (
  SELECT entry.position, entry.stored.run_id, entry.stored.sequence,
    entry.stored.at_ms AS at_ms, entry.stored.event AS event,
    event->>['kind', 'node', 'visit_id', 'attempt_id', 'check_id', 'branch_id', 'subject_id',
      'gate_id', 'from_node', 'from_visit_id'] AS names
  FROM stored
), subjects AS (
  SELECT *, coalesce(names[4], names[5], names[6], names[7]) AS subject FROM named
)
INSERT INTO events BY NAME
SELECT $shard AS shard, position, run_id, sequence, epoch_ms(at_ms) AS occurred_at,
  names[1] AS kind,
  coalesce(names[2], names[9], nullif(split_part(subject, '.', 2), '')) AS node,
  array_to_string(string_split(coalesce(names[3], names[8], names[10], subject), '.')[1:3], '.')
    AS visit_id,
  coalesce(names[4], names[5], names[7]) AS attempt_id,
  CASE names[1] WHEN 'credential_bound' THEN json_merge_patch(event, '{"token_digest":null}')
    ELSE event END AS data
FROM subjects
