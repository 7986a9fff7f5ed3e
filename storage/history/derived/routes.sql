-- A row is one route_taken.
SELECT run_id, sequence, occurred_at AS taken_at, data->>'from_node' AS from_node,
  data->>'from_visit_id' AS from_visit_id, data->>'to' AS to_node, data->>'route' AS route,
  data->>'reason' AS reason, data->>'rule' AS rule, CAST(data->>'counted' AS BOOLEAN) AS counted
FROM batch
WHERE kind = 'route_taken'
