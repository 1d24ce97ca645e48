-- Version 2: the memory, the names that native files need, and which of them are faces.

CREATE TABLE memory (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  number INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX memory_of_kind ON memory (kind, number);

CREATE TABLE names (
  space TEXT NOT NULL,
  name TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (space, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE faces (
  path TEXT PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;
