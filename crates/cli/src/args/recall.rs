//! What can be typed to ask the memory.

use clap::Args as ClapArgs;
use jiff::Timestamp;

pub(crate) const EXAMPLES: &str =
    "Says what is known that helps with this, or that nothing recorded helps.

Examples:
  piton recall 'connection refused on port 5433'
  make test 2>&1 | piton recall -
  piton recall - --json < failure.log | jq -r '.results[0].content'";

#[derive(Debug, ClapArgs)]
pub(crate) struct RecallArgs {
    /// What failed, or what is to be done; `-` reads it from stdin
    pub(crate) text: String,
    /// As of this time, such as 2026-01-15T10:30:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Timestamp>,
}

pub(crate) const PREPARE: &str =
    "What holds, what was tried, what helps, what stands in the way, what was done: as the
block that stands in the prompts of `piton run`.

Examples:
  piton prepare auth-login
  piton prepare development/step-2 --max-tokens 800
  piton prepare auth-login --json | jq -r '.learnings[].text'";

pub(crate) const RECOVER: &str =
    "One of retry, fix-state, break-chunks, skip and manual, with what it rests on and what was
considered before. Changes nothing; `piton run` follows the same answer by itself.

Examples:
  piton recover auth-login
  make test 2>&1 | piton recover auth-login --failure -
  piton recover auth-login --json | jq -r '.action, .guidance'";
