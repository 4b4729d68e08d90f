"""The payment service: an HTTP API in front of one acquirer and one ledger."""
