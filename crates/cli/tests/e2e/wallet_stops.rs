//! What stops work and payments, and several processes at once, against real LNbits servers.
