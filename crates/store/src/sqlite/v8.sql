-- Version 8: only what is under way, asked about or broken is looked for by its
-- standing.
DROP INDEX items_by_standing;
CREATE INDEX items_by_standing ON items (run, standing, place) WHERE standing <> 0 AND standing <> 4;
