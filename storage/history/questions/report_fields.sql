WITH fields AS (
  SELECT run_id, attempt_id, data, unnest(json_keys(data)) AS field FROM reports
), valued AS (
  SELECT run_id, attempt_id, field, json_extract(data, '$."' || field || '"') AS value FROM fields
)
SELECT run_id, attempt_id, field,
  CASE json_type(value) WHEN 'VARCHAR' THEN value->>'$' END AS text,
  CASE WHEN json_type(value) IN ('BIGINT', 'UBIGINT', 'DOUBLE') THEN CAST(value AS DOUBLE) END
    AS number,
  CASE json_type(value) WHEN 'BOOLEAN' THEN CAST(value AS BOOLEAN) END AS truth
FROM valued
