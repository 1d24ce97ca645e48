//! What the tests share: the store contract, scratch projects, small programs. Never shipped.
