//! The journal, its views and registers, on SQLite and in memory.
