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
