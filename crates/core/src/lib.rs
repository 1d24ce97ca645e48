//! The heart of piton: what there is, what may happen to it, and what follows.
//!
//! State is a fold of events; a decision is a function of data. Everything in
//! this crate is pure: no clock, no file, no database handle, no randomness,
//! no thread, nothing async. What varies from call to call comes in as a value.
//!
//! | question | where |
//! |---|---|
//! | what is a plan, a run, an item, an attempt, a decision | [`plan`], [`policy`], [`gate`], [`run`], [`item`], [`attempt`], [`decision`], [`entry`], [`memory`], [`observation`] |
//! | how things and people are named, and amounts written | [`id`], [`actor`], [`amount`] |
//! | what an attempt used and did, and what stood in its way | [`usage`], [`dollars`], [`call`], [`trouble`] |
//! | what a run may use, and what a word without proof is worth | [`budget`], [`evidence`] |
//! | on which branch a run works, in which lanes, and how their work is merged | [`lane`], [`merge`] |
//! | where work goes by a pull request, and what a look at it means | [`pull_request`] |
//! | which files an item is about, so that two units are kept apart | [`scope`] |
//! | whether an agent runs in circles or stands still | [`stuck`], [`standstill`] |
//! | whether the tests and the check of an item became weaker | [`weakening`] |
//! | what an item waits for before it begins, and what it means for the state of its run | [`wait`], [`standing`] |
//! | what an agent asks for or claims beside its work, who reviews that work | [`request`], [`claim`], [`review`], [`iteration_hook`] |
//! | what an invocation of a run hands on to the next | [`flags`] |
//! | what a person is notified of | [`notification`] |
//! | what native files call them | [`native_file`], [`name`], [`native`] |
//! | what a person or a program may ask for | [`command`] |
//! | what a person may change in a plan by hand | [`edit`] |
//! | which rows a command wants to see, and how a store finds them | [`needs_of_command`], [`Selector`], [`table`] |
//! | what a command leads to, or why not | [`decide`](fn@decide), [`refusal`] |
//! | what has happened, on which branch, how it is chained, and what secrets are taken out | [`event`], [`checkout`], [`journal`], [`redact`] |
//! | what the read tables must change | [`changed_keys`], [`apply_event`], [`row`], [`tables`] |
//! | what memory has to say about a failure | [`recall`] |
//! | what an attempt leaves to remember, how much confidence it deserves, what to clear up | [`extract`], [`confidence`], [`doctor`], [`named_paths`] |
//! | what the runner does next, and after a failure of which kind | [`run_loop`], [`recover`](mod@recover), [`classify`] |
//! | what an agent should know before it begins | [`prepare`](mod@prepare), [`earlier_work`] |
//! | what of a project can be executed | [`trust`] |
//! | how text from outside stands in a prompt, and on a terminal | [`quote`], [`terminal`] |
//!
//! How events are stored: see `piton_store`. How the world is touched: see
//! `piton_engine`.

pub mod actor;
pub mod agent_chain;
pub mod amount;
pub mod attempt;
pub mod budget;
pub mod call;
pub mod checkout;
pub mod claim;
pub mod classify;
mod clock;
pub mod command;
pub mod confidence;
pub mod contradiction;
mod decide;
pub mod decision;
pub mod doctor;
pub mod dollars;
pub mod earlier_work;
pub mod edit;
pub mod entry;
pub mod event;
pub mod evidence;
pub mod extract;
pub mod flags;
pub mod gate;
pub mod id;
pub mod item;
pub mod iteration_hook;
pub mod journal;
pub mod lane;
pub mod memory;
pub mod merge;
pub mod name;
pub mod named_paths;
pub mod native;
pub mod native_file;
mod needs;
pub mod notification;
pub mod observation;
mod order;
pub mod plan;
pub mod policy;
pub mod prepare;
pub mod pull_request;
pub mod quote;
pub mod recall;
pub mod recover;
pub mod redact;
pub mod refusal;
pub mod request;
pub mod review;
pub mod row;
pub mod run;
pub mod run_loop;
pub mod scope;
pub mod standing;
pub mod standstill;
pub mod stuck;
pub mod table;
pub mod tables;
pub mod terminal;
pub mod trouble;

pub mod trust;
pub mod usage;
mod views;
pub mod wait;
pub mod weakening;
mod word;

pub use actor::Actor;
pub use attempt::{AttemptRow, Outcome, Role};
pub use command::{CallerFacts, Command, HolderLiveness};
pub use decide::{PlanFileEdits, decide, find_inapplicable_edits, tables_after_merge};
pub use decision::{DecisionChoice, DecisionKind, DecisionRow, Verb};
pub use edit::Edit;
pub use event::Event;
pub use id::{AttemptId, CommandId, DecisionId, EventId, Node, RunId, StreamId, TreePosition};
pub use item::{ItemRow, ItemState, Stage};
pub use journal::{DecodedRecord, Draft};
pub use needs::{ColumnCondition, Need, Needs, RowQuery, Rows, Selector, needs_of_command};
pub use refusal::Refusal;
pub use run::{RunRow, RunState};

pub use row::{Key, Row};
pub use table::{ColumnValue, ReadTable, TableDescriptor};
pub use tables::Tables;
pub use views::{apply_event, changed_keys};
