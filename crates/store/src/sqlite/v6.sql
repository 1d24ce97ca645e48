-- Version 6: what an item means for the state of its run stands in a column, in
-- place of whether the runner has something to do with it.
DROP INDEX items_to_do;
ALTER TABLE items DROP COLUMN actionable;
ALTER TABLE items ADD COLUMN standing INTEGER NOT NULL DEFAULT 0;
CREATE INDEX items_by_standing ON items (run, standing, place);
CREATE INDEX items_open ON items (run, place) WHERE standing <> 4;
