-- Version 10: several runners work on one run, each with a lease of its own.
ALTER TABLE leases RENAME TO former_leases;
CREATE TABLE leases (
  run BLOB NOT NULL,
  token INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  PRIMARY KEY (run, token)
) STRICT, WITHOUT ROWID;
INSERT INTO leases (run, token, expires) SELECT run, token, expires FROM former_leases;
DROP TABLE former_leases;
