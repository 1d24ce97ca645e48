-- Version 3: what the memory is found by. The tokens of what is followed, who
-- holds each of them, and how many do. All of it is made of the rows of `memory`.

-- `position` is that of its first event; `body` is its tokens and what each
-- weighs; times are in microseconds.
CREATE TABLE documents (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  learned INTEGER NOT NULL,
  helped INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  body TEXT NOT NULL
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
