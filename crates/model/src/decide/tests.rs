//! The rules of the contract, as tests without a server.
