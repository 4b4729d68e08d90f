CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    project TEXT NOT NULL,
    label TEXT NOT NULL
) STRICT;

CREATE TABLE text (
    hash BLOB PRIMARY KEY,
    bytes BLOB NOT NULL,
    kind TEXT NOT NULL
) STRICT;

CREATE TABLE fact (
    session TEXT NOT NULL REFERENCES session (id),
    seq INTEGER NOT NULL,
    v INTEGER NOT NULL,
    contract TEXT NOT NULL,
    at INTEGER NOT NULL,
    cause TEXT NOT NULL,
    body TEXT NOT NULL,
    hash BLOB NOT NULL,
    UNIQUE (session, seq)
) STRICT;

CREATE INDEX fact_of_contract ON fact (session, contract, seq);

CREATE TABLE session_fact (
    session TEXT NOT NULL REFERENCES session (id),
    n INTEGER NOT NULL,
    after INTEGER NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    hash BLOB NOT NULL,
    UNIQUE (session, n)
) STRICT;

CREATE TABLE inbox (
    session TEXT NOT NULL REFERENCES session (id),
    number INTEGER NOT NULL,
    command TEXT NOT NULL,
    at INTEGER NOT NULL,
    done INTEGER NOT NULL DEFAULT 0,
    UNIQUE (session, number)
) STRICT;

CREATE TABLE lease (
    session TEXT PRIMARY KEY REFERENCES session (id),
    epoch INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    boot TEXT NOT NULL,
    since INTEGER NOT NULL
) STRICT;

CREATE TRIGGER fact_is_final BEFORE UPDATE ON fact BEGIN SELECT RAISE(ABORT, 'a fact never changes'); END;
CREATE TRIGGER fact_stays BEFORE DELETE ON fact BEGIN SELECT RAISE(ABORT, 'a fact is never deleted'); END;
CREATE TRIGGER session_fact_is_final BEFORE UPDATE ON session_fact BEGIN SELECT RAISE(ABORT, 'a fact never changes'); END;
CREATE TRIGGER session_fact_stays BEFORE DELETE ON session_fact BEGIN SELECT RAISE(ABORT, 'a fact is never deleted'); END;
CREATE TRIGGER text_is_final BEFORE UPDATE ON text BEGIN SELECT RAISE(ABORT, 'a text never changes'); END;
