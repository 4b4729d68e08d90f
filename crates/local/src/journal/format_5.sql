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
