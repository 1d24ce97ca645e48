//! The six things, events, decisions, plans, recovery. Pure.
