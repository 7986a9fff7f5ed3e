SELECT kind,
  count(*) FILTER (closed_at IS NULL) AS open,
  min(opened_at) FILTER (closed_at IS NULL) AS oldest,
  count(closed_at) AS closed,
  median(waited_ms) / 1000 AS median_waited_s
FROM attention_periods
GROUP BY kind
