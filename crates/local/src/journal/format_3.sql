-- The version of an account's fact. Rows from before have version 1, whose hash does not cover the version.
ALTER TABLE session_fact ADD COLUMN v INTEGER NOT NULL DEFAULT 1;

-- Where each session stands. A commit updates the rows of the sessions that it changes.
CREATE TABLE session_head (
    session TEXT PRIMARY KEY REFERENCES session (id),
    about BLOB NOT NULL,
    facts INTEGER NOT NULL,
    facts_hash BLOB NOT NULL,
    account INTEGER NOT NULL,
    account_hash BLOB NOT NULL,
    commands INTEGER NOT NULL,
    commands_open BLOB NOT NULL,
    in_line BLOB NOT NULL,
    lease BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Where the hall stands: one row, which covers the heads of all sessions.
CREATE TABLE hall_head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    commits INTEGER NOT NULL,
    sessions INTEGER NOT NULL,
    heads BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;

-- Most commands are done; those that wait are looked for several times a second.
CREATE INDEX inbox_open ON inbox (session, number) WHERE done = 0;
