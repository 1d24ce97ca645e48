-- The tables of a store made new, as the migrations make them of an old one.
-- What each is for: docs/formats/journal.md.

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
  hash BLOB NOT NULL,
  -- How the hash is made: 1 over the body, 2 over its hash and the writer.
  form INTEGER NOT NULL DEFAULT 1,
  -- The store that wrote it, of form 2.
  writer BLOB,
  -- Of a tombstone: the hash of the body, which is empty.
  body_hash BLOB,
  -- Neither is part of the hash; null in a store of one project.
  project TEXT,
  origin TEXT
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

-- Views: the fold of the journal. `body` is the whole row, as JSON; `checksum`
-- is the CRC-32 of it; the other columns repeat what is asked for.
CREATE TABLE runs (
  id BLOB PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL,
  checksum INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE items (
  run BLOB NOT NULL,
  node TEXT NOT NULL,
  place BLOB NOT NULL,
  body TEXT NOT NULL,
  standing INTEGER NOT NULL DEFAULT 0,
  checksum INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (run, node)
) STRICT;
CREATE INDEX items_in_tree ON items (run, place);
CREATE INDEX items_open ON items (run, place) WHERE standing <> 4;
-- What the state of its run is derived from: few items at any time.
CREATE INDEX items_by_standing ON items (run, standing, place) WHERE standing <> 0 AND standing <> 4;

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
  body TEXT NOT NULL,
  time INTEGER NOT NULL DEFAULT 0,
  checksum INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX attempts_at ON attempts (run, node);
CREATE INDEX attempts_open ON attempts (run) WHERE open;
CREATE INDEX attempts_by_time ON attempts (time, id) WHERE NOT open;

CREATE TABLE decisions (
  id BLOB PRIMARY KEY,
  number INTEGER NOT NULL UNIQUE,
  run BLOB NOT NULL,
  open INTEGER NOT NULL,
  body TEXT NOT NULL,
  checksum INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX decisions_open ON decisions (run) WHERE open;

CREATE TABLE entries (
  position INTEGER PRIMARY KEY,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  time INTEGER NOT NULL DEFAULT 0,
  checksum INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX entries_of_type ON entries (type, time);
CREATE INDEX entries_by_time ON entries (time);

-- `task` is `[spec, task]` as JSON: either may be null.
CREATE TABLE blockers (
  task TEXT PRIMARY KEY,
  body TEXT NOT NULL,
  checksum INTEGER NOT NULL DEFAULT 0
) STRICT;

-- A register, not history: when the leases on a run end.
CREATE TABLE leases (
  run BLOB NOT NULL,
  token INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  PRIMARY KEY (run, token)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  number INTEGER NOT NULL,
  body TEXT NOT NULL,
  checksum INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX memory_of_kind ON memory (kind, number);

CREATE TABLE names (
  space TEXT NOT NULL,
  name TEXT NOT NULL,
  body TEXT NOT NULL,
  checksum INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (space, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE faces (
  path TEXT PRIMARY KEY,
  body TEXT NOT NULL,
  checksum INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What the memory is found by, made of the rows of `memory`.
-- `position` is that of its first event; `body` is its tokens and what each
-- weighs; times are in microseconds.
CREATE TABLE documents (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  learned INTEGER NOT NULL,
  helped INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  body TEXT NOT NULL,
  checksum INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE tokens (
  id INTEGER PRIMARY KEY,
  token TEXT NOT NULL UNIQUE,
  holding INTEGER NOT NULL
) STRICT;

CREATE TABLE postings (
  token INTEGER NOT NULL,
  position INTEGER NOT NULL,
  PRIMARY KEY (token, position)
) STRICT, WITHOUT ROWID;

-- One row: how many documents there are, and how long they are together, in
-- tenths of a word.
CREATE TABLE totals (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  documents INTEGER NOT NULL,
  tenths INTEGER NOT NULL
) STRICT;
INSERT INTO totals (one, documents, tenths) VALUES (1, 0, 0);

-- A register: which number the next memory of a kind has, and which the first had.
CREATE TABLE numbers (
  kind TEXT PRIMARY KEY,
  first INTEGER NOT NULL,
  next INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the store says of itself: `writer`, the id that it puts into what it writes.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
