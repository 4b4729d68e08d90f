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
    v INTEGER NOT NULL,
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

-- Most commands are done; those that wait are looked for several times a second.
CREATE INDEX inbox_open ON inbox (session, number) WHERE done = 0;

CREATE TABLE lease (
    session TEXT PRIMARY KEY REFERENCES session (id),
    epoch INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    boot TEXT NOT NULL,
    since INTEGER NOT NULL
) STRICT;

-- Calls that wait for a permit and have not left. A row says nothing of a call that was answered.
CREATE TABLE in_line (
    session TEXT NOT NULL REFERENCES session (id),
    contract TEXT NOT NULL,
    ask INTEGER NOT NULL,
    PRIMARY KEY (session, contract, ask)
) STRICT, WITHOUT ROWID;

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

CREATE TRIGGER fact_is_final BEFORE UPDATE ON fact BEGIN SELECT RAISE(ABORT, 'a fact never changes'); END;
CREATE TRIGGER fact_stays BEFORE DELETE ON fact BEGIN SELECT RAISE(ABORT, 'a fact is never deleted'); END;
CREATE TRIGGER session_fact_is_final BEFORE UPDATE ON session_fact BEGIN SELECT RAISE(ABORT, 'a fact never changes'); END;
CREATE TRIGGER session_fact_stays BEFORE DELETE ON session_fact BEGIN SELECT RAISE(ABORT, 'a fact is never deleted'); END;
CREATE TRIGGER text_is_final BEFORE UPDATE ON text BEGIN SELECT RAISE(ABORT, 'a text never changes'); END;

-- The treasury: the money of the hall's wallet, in wall time. A fact that introduces a payment names it in `payment`, so that no
-- payment is introduced twice.
CREATE TABLE treasury_fact (
    n INTEGER PRIMARY KEY,
    v INTEGER NOT NULL,
    at INTEGER NOT NULL,
    payment BLOB UNIQUE,
    body TEXT NOT NULL,
    hash BLOB NOT NULL
) STRICT;

-- The process that asks the wallet.
CREATE TABLE treasury_lease (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    boot TEXT NOT NULL,
    since INTEGER NOT NULL
) STRICT;

-- Where the treasury stands. The hall's head covers it.
CREATE TABLE treasury_head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    facts INTEGER NOT NULL,
    facts_hash BLOB NOT NULL,
    lease BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;

CREATE TRIGGER treasury_fact_is_final BEFORE UPDATE ON treasury_fact BEGIN SELECT RAISE(ABORT, 'a fact never changes'); END;
CREATE TRIGGER treasury_fact_stays BEFORE DELETE ON treasury_fact BEGIN SELECT RAISE(ABORT, 'a fact is never deleted'); END;

-- Sessions that a server made for others, and the team that works in each.
CREATE TABLE served_session (
    session TEXT PRIMARY KEY REFERENCES session (id),
    team TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may use a served session. A token itself is never stored, only its hash.
CREATE TABLE access_token (
    session TEXT NOT NULL REFERENCES session (id),
    number INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('owner', 'viewer')),
    hash BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;

-- Invoices in play money: whoever holds the session's token settles them.
CREATE TABLE play_invoice (
    session TEXT NOT NULL REFERENCES session (id),
    number INTEGER NOT NULL,
    msat INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    paid_at INTEGER,
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;

-- Requests that were made under a key: what was asked for, and what came of it. A key counts once in a session.
CREATE TABLE idempotency_key (
    session TEXT NOT NULL REFERENCES session (id),
    key BLOB NOT NULL,
    request BLOB NOT NULL,
    result TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (session, key)
) STRICT, WITHOUT ROWID;
