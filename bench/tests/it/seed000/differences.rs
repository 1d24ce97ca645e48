//! Where piton does something else than seed 000, on purpose.

use std::collections::BTreeMap;

macro_rules! differences {
    ($($(#[doc = $doc:literal])* $name:ident),+ $(,)?) => {
        /// A wanted difference: what the document says, what piton does, why.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Difference { $($(#[doc = $doc])* $name),+ }

        impl Difference {
            pub(super) const ALL: &[Self] = &[$(Self::$name),+];
        }
    };
}

differences! {
    /// Prepare. The seed tells every valid learning of two types. piton tells
    /// what recall finds for the item and for its last failure: a prompt has
    /// little room, and what has nothing to do with the item misleads.
    OnlyWhatHelps,
    /// Prepare. The seed tells why the last attempt failed. piton tells the last
    /// three in a row: the next attempt must not repeat any of them.
    EarlierFailuresToo,
    /// Prepare. The seed knows a summary alone. piton tells the error where
    /// there is one: it says more of the failure than what was done does.
    ErrorBeforeSummary,
    /// Prepare. The seed counts friction of failed and blocked attempts. piton
    /// counts that of partial ones too: they did not complete either.
    FrictionOfPartialAttempts,
    /// Prepare. The seed counts every observation about the tools. piton counts
    /// none that says that something was done already: nothing was in the way.
    CompletionIsNoFriction,
    /// Extract. The seed learns from any observation. piton learns nothing from
    /// one of the type completion: that is about the item, not the project.
    CompletionTeachesNothing,
    /// Extract. The seed learns again from an observation that names the
    /// learning that came of it. piton does not: it is known.
    LearnedAlready,
    /// Extract. The seed keeps the description alone. piton keeps the title
    /// before it where the description does not repeat it: alone it often says
    /// nothing.
    TitleIsKept,
    /// Extract. The seed makes a learning without content of an observation
    /// without a description, which its own validation refuses. piton keeps the
    /// title.
    DescriptionIsEmpty,
    /// Extract. The seed keeps the same words as often as they are said. piton
    /// keeps them once, with a second source.
    KnownIsConfirmed,
    /// Extract. The seed gives all learnings of an entry one id, because it does
    /// not append them before it counts. piton gives each its own.
    IdsAreUnique,
    /// Recover. The seed counts all attempts at an item, also those before one
    /// that completed. piton counts those in a row since then: an item that was
    /// done and reopened has not failed three times.
    AttemptsInARow,
    /// Recover. The seed does not look at observations that the item was done
    /// before. piton skips an item of which an attempt says so that changed
    /// nothing: the seed names the action and never decides it.
    AlreadyDone,
    /// Recover. The seed gives the same guidance again. piton gives none with
    /// which an attempt at the item failed: it would fail again.
    AdviceOnce,
    /// Recover. The seed asks a person about what comes and goes. piton tries
    /// again where the network or a limit of a service is at fault.
    PassingTrouble,
    /// Recover. The seed names `fix-state` and never decides it. piton decides
    /// it where the failure shows that the workspace is not in order.
    BrokenState,
    /// Recover. The seed names `break-chunks` and never decides it. piton
    /// decides it for what was done in part or is too large for one attempt.
    TooLarge,
    /// Recover. The seed names `skip` and never decides it. piton decides it for
    /// what nothing needs.
    NotNeeded,
}

/// How often each difference was seen.
#[derive(Debug, Default)]
pub(super) struct Seen(BTreeMap<Difference, u32>);

impl Seen {
    /// Notes a difference where a condition holds; returns the condition.
    pub(super) fn note(&mut self, difference: Difference, is_there: bool) -> bool {
        if is_there {
            *self.0.entry(difference).or_default() += 1;
        }
        is_there
    }

    pub(super) fn count(&self, difference: Difference) -> u32 {
        self.0.get(&difference).copied().unwrap_or_default()
    }
}
