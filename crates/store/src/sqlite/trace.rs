//! The statements that a store executes, for tests that count them.

use rusqlite::trace::{TraceEvent, TraceEventCodes};

use super::SqliteStore;
use super::fault::sqlite_fault;
use crate::store::StoreFault;

impl SqliteStore {
    /// Calls `each` with the text of every statement that is executed from now on.
    ///
    /// # Errors
    ///
    /// When a flush of this store failed before, or SQLite refuses.
    pub fn trace_statements(
        &self,
        mut each: impl FnMut(&str) + Send + 'static,
    ) -> Result<(), StoreFault> {
        let trace = move |event: TraceEvent<'_>| {
            if let TraceEvent::Stmt(_, sql) = event {
                each(sql);
            }
        };
        let mut inner = self.lock_inner()?;
        let set = inner
            .connection
            .trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(trace));
        set.map_err(|error| sqlite_fault("trace", &self.place.db, error))
    }
}
