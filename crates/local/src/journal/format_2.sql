-- Calls that wait for a permit and have not left. A row says nothing of a call that was answered.
CREATE TABLE in_line (
    session TEXT NOT NULL REFERENCES session (id),
    contract TEXT NOT NULL,
    ask INTEGER NOT NULL,
    PRIMARY KEY (session, contract, ask)
) STRICT, WITHOUT ROWID;
