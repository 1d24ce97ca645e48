-- Version 12: the hash of an event has one of two forms, and a body can be removed.
-- Every event that is there already has form 1 and keeps it.
ALTER TABLE events ADD COLUMN form INTEGER NOT NULL DEFAULT 1;
ALTER TABLE events ADD COLUMN writer BLOB;
ALTER TABLE events ADD COLUMN body_hash BLOB;
ALTER TABLE events ADD COLUMN project TEXT;
ALTER TABLE events ADD COLUMN origin TEXT;

CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
