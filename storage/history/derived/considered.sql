-- A row is one term of one rule that a route_taken says was considered.
WITH rules AS (
  SELECT run_id, sequence,
    unnest(from_json(data->'considered', '["JSON"]')) AS rule,
    generate_subscripts(from_json(data->'considered', '["JSON"]'), 1) AS rule_number
  FROM batch
  WHERE kind = 'route_taken' AND json_array_length(data->'considered') > 0
), terms AS (
  SELECT *,
    unnest(from_json(rule->'terms', '["JSON"]')) AS term,
    generate_subscripts(from_json(rule->'terms', '["JSON"]'), 1) AS term_number
  FROM rules
)
SELECT run_id, sequence, rule_number, rule->>'name' AS rule,
  CAST(rule->>'holds' AS BOOLEAN) AS rule_holds, term_number, term->>'field' AS field,
  term->>'operator' AS operator, term->'operand' AS operand, term->'value' AS value,
  CAST(term->>'holds' AS BOOLEAN) AS holds
FROM terms
