-- A row is one definition, once for all runs that were started with it.
INSERT INTO definitions BY NAME
SELECT data->>'definition_digest' AS definition_digest,
  any_value(data->>'$.workflow.id') AS workflow_id,
  any_value(data->>'$.workflow.name') AS workflow_name,
  any_value(data->'workflow') AS workflow
FROM batch
WHERE kind = 'run_started'
  AND (data->>'definition_digest') NOT IN (SELECT definition_digest FROM definitions)
GROUP BY 1
