-- Version 1 of the store. What each table is for: docs/formats/journal.md.

-- The journal: every event, in the order in which it was stored.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  position INTEGER NOT NULL,
  id BLOB NOT NULL,
  time INTEGER NOT NULL,
  actor TEXT NOT NULL,
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  body TEXT NOT NULL,
  command BLOB NOT NULL,
  hash BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_of_stream ON events (stream, position);
CREATE INDEX events_of_command ON events (command);

-- The head of each stream.
CREATE TABLE streams (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  count INTEGER NOT NULL,
  hash BLOB NOT NULL,
  time INTEGER NOT NULL
) STRICT;

-- Views: the fold of the journal. `body` is the whole row, as JSON; the other
-- columns repeat what is asked for.
CREATE TABLE runs (
  id BLOB PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE items (
  run BLOB NOT NULL,
  node TEXT NOT NULL,
  place BLOB NOT NULL,
  actionable INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (run, node)
) STRICT;
CREATE INDEX items_in_tree ON items (run, place);
CREATE INDEX items_to_do ON items (run, place) WHERE actionable;

CREATE TABLE dependencies (
  run BLOB NOT NULL,
  on_node TEXT NOT NULL,
  node TEXT NOT NULL,
  PRIMARY KEY (run, on_node, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
  id BLOB PRIMARY KEY,
  run BLOB NOT NULL,
  node TEXT NOT NULL,
  open INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX attempts_at ON attempts (run, node);
CREATE INDEX attempts_open ON attempts (run) WHERE open;

CREATE TABLE decisions (
  id BLOB PRIMARY KEY,
  number INTEGER NOT NULL UNIQUE,
  run BLOB NOT NULL,
  open INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX decisions_open ON decisions (run) WHERE open;

CREATE TABLE entries (
  position INTEGER PRIMARY KEY,
  type TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX entries_of_type ON entries (type);

-- `task` is `[spec, task]` as JSON: either may be null.
CREATE TABLE blockers (
  task TEXT PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;

-- A register, not history: when the lease on a run ends.
CREATE TABLE leases (
  run BLOB PRIMARY KEY,
  token INTEGER NOT NULL,
  expires INTEGER NOT NULL
) STRICT;
