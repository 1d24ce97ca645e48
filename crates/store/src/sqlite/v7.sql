-- Version 7: entries and attempts have a column for the time by which the last
-- of them are found, in microseconds. Positions and ids do not say it: what is
-- taken from a file comes late, and under an id that is made of its words.
ALTER TABLE entries ADD COLUMN time INTEGER NOT NULL DEFAULT 0;
DROP INDEX entries_of_type;
CREATE INDEX entries_of_type ON entries (type, time);
CREATE INDEX entries_by_time ON entries (time);
ALTER TABLE attempts ADD COLUMN time INTEGER NOT NULL DEFAULT 0;
CREATE INDEX attempts_by_time ON attempts (time, id) WHERE NOT open;
