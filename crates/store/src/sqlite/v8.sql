-- Version 8: only what is under way, asked about or broken is looked for by its
-- standing.
DROP INDEX items_by_standing;
CREATE INDEX items_by_standing ON items (run, standing, place) WHERE standing <> 0 AND standing <> 4;

-- And a store knows where the names begin that it gives out: one of an earlier
-- version begins at 1.
CREATE TABLE numbers (
  kind TEXT PRIMARY KEY,
  first INTEGER NOT NULL,
  next INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO numbers (kind, first, next)
  SELECT kind.name, 1, coalesce((SELECT max(number) + 1 FROM memory WHERE kind = kind.name), 1)
  FROM (SELECT 'learning' AS name UNION SELECT 'pattern' UNION SELECT 'guardrail' UNION SELECT 'resolved-blocker') AS kind;
