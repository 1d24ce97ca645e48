//! What a runner does next: to come.
