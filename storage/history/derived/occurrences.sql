-- A row is one occurrence as the shard's schedule store has it now.
WITH stored AS (
  SELECT unnest(from_json($occurrences, '["JSON"]')) AS data
)
INSERT INTO occurrences BY NAME
SELECT $shard AS shard, data->>'occurrence_id' AS occurrence_id,
  data->>'schedule_id' AS schedule_id, data->>'trigger' AS trigger_kind,
  epoch_ms(CAST(data->>'slot_ms' AS BIGINT)) AS slot_at,
  epoch_ms(CAST(data->>'created_at_ms' AS BIGINT)) AS created_at,
  epoch_ms(CAST(data->>'settled_at_ms' AS BIGINT)) AS settled_at,
  data->>'state' AS state, data->>'run_id' AS run_id, data->>'asked_by' AS asked_by,
  data->>'$.reason.code' AS reason_code, data->'wish' AS wish
FROM stored
