//! The verbs; the loop; agents; files on disk; git; the clock.
