//! What is done about failures, and what prompts carry: piton's way, and those
//! that it is measured against.

use piton_core::attempt::RecoveryAction;
use piton_core::classify::FailureCategory;
use piton_core::memory::{MemoryKind, MemoryRow, UnconfirmedPolicy};
use piton_core::policy::RetryPolicy;
use piton_core::prepare::PreparedContext;
use piton_core::recover::{Recovery, Rule};
use piton_core::{Node, RunId};
use piton_engine::memory::preparation::{self, BlockerScope, PrepareRequest, TOKENS};
use piton_engine::memory::recovery::{IncompleteAttempt, plan_recovery_in_store};

use super::seed;
use super::world::World;
use crate::Result;

/// A way to deal with failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// What the engine does: notes in each prompt, `recover` after a failure,
    /// the retries that a plan has when it says nothing.
    Piton,
    /// No memory. Whatever failed is tried three times, then a person is asked.
    Plain,
    /// What seed 000 decides after a failure: see [`seed`].
    Seed,
    /// The same, and each prompt carries what the seed prepares: every learning
    /// of two kinds, whether it has to do with the item or not. Not judged: an
    /// agent of this simulation cannot be told too much.
    SeedTellsAll,
}

/// What a prompt carries of what is known.
#[derive(Default)]
pub struct Known {
    /// What piton prepares.
    pub prepared: Option<PreparedContext>,
    /// What stands before the prompt otherwise.
    pub text: Option<String>,
    /// The ids of what it carries of the memory.
    pub carried: Vec<String>,
}

impl Known {
    /// How many bytes it is as Markdown.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let prepared = self.prepared.as_ref();
        let prepared = prepared.map_or(0, |prepared| prepared.render_markdown().len());
        prepared + self.text.as_ref().map_or(0, String::len)
    }
}

impl Policy {
    /// Every one, piton's first.
    pub const ALL: [Self; 4] = [Self::Piton, Self::Plain, Self::Seed, Self::SeedTellsAll];

    /// Its name, as shown.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Piton => "piton",
            Self::Plain => "plain retries",
            Self::Seed => "seed 000",
            Self::SeedTellsAll => "seed 000, told all",
        }
    }

    /// Whether piton is to be better.
    #[must_use]
    pub fn is_judged(self) -> bool {
        self != Self::SeedTellsAll
    }

    /// What the plan tries again by itself.
    #[must_use]
    pub fn retry(self) -> RetryPolicy {
        match self {
            Self::Piton => RetryPolicy::default(),
            Self::Plain => RetryPolicy {
                retries_max: 2,
                categories: vec![
                    FailureCategory::Network,
                    FailureCategory::RateLimit,
                    FailureCategory::Timeout,
                    FailureCategory::Validation,
                    FailureCategory::Logic,
                ],
                ..RetryPolicy::default()
            },
            Self::Seed | Self::SeedTellsAll => RetryPolicy {
                retries_max: 0,
                ..RetryPolicy::default()
            },
        }
    }

    /// What the prompt of the next attempt at an item carries.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn known(
        self,
        world: &World,
        memories: &[&MemoryRow],
        (run, node): (RunId, &Node),
    ) -> Result<Known> {
        match self {
            Self::Piton => {
                let request = PrepareRequest {
                    run,
                    node,
                    now: world.now(),
                    tokens_max: TOKENS,
                    blockers: BlockerScope::Item,
                    rule_texts: &[],
                    unconfirmed: UnconfirmedPolicy::default(),
                };
                let prepared = preparation::prepare_item(&world.store, &request)?;
                Ok(Known {
                    carried: prepared.carried_memory_ids().map(str::to_owned).collect(),
                    prepared: Some(prepared).filter(|prepared| !prepared.notes.is_empty()),
                    text: None,
                })
            }
            Self::Plain | Self::Seed => Ok(Known::default()),
            Self::SeedTellsAll => Ok(Known {
                prepared: None,
                text: Some(seed::prepare(memories)),
                carried: Vec::new(),
            }),
        }
    }

    /// What is done after an attempt that failed; none where the plan's own
    /// retries or a person decide.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn recovery(
        self,
        world: &World,
        memories: &[&MemoryRow],
        (ended, tries): (&IncompleteAttempt<'_>, u32),
    ) -> Result<Option<Recovery>> {
        let detail = ended.report.error.as_deref().unwrap_or_default();
        Ok(match self {
            Self::Piton => Some(plan_recovery_in_store(
                &world.store,
                ended,
                &[],
                world.now(),
            )?),
            Self::Plain => None,
            Self::Seed | Self::SeedTellsAll => Some(of_seed(memories, detail, tries)),
        })
    }
}

fn of_seed(memories: &[&MemoryRow], detail: &str, tries: u32) -> Recovery {
    let found = seed::decide(memories, detail, tries);
    Recovery {
        action: match found {
            Some(_) => RecoveryAction::Retry,
            None => RecoveryAction::Manual,
        },
        rule: match found.map(|row| row.memory.kind) {
            Some(MemoryKind::ResolvedBlocker) => Rule::ResolvedBlocker,
            Some(_) => Rule::KnownWorkaround,
            None => Rule::NothingKnown,
        },
        guidance: found.map_or_else(
            || "no automated recovery found".to_owned(),
            |row| row.memory.content.clone(),
        ),
        evidence: found.iter().map(|row| row.id.clone()).collect(),
        rejected: Vec::new(),
    }
}
