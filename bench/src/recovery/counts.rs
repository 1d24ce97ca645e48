//! What items took, counted.

use std::collections::BTreeMap;

use serde::Serialize;

/// How one item ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Whether the memory holds what helps.
    pub is_answerable: bool,
    /// Whether it was done; left out otherwise.
    pub is_finished: bool,
    /// How many agents were started for it, of any role.
    pub attempts: u32,
    /// How many of them did not work on it, but put the workspace in order or
    /// were to split it.
    pub aside: u32,
    /// How many of them were told what the memory advises against the failure
    /// before.
    pub advised: u32,
    /// How often a person was asked about it.
    pub asked: u32,
    /// How many bytes of what is known stood in its prompts.
    pub told_bytes: u64,
}

/// Items of one sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// How many.
    pub items: u64,
    /// How many of them were done.
    pub finished: u64,
    /// How many agents were started.
    pub attempts: u64,
    /// How many of them did not work on an item: see [`End::aside`].
    pub aside: u64,
    /// How many of them were advised: see [`End::advised`].
    pub advised: u64,
    /// How often a person was asked.
    pub asked: u64,
    /// How many bytes of what is known stood in the prompts.
    pub told_bytes: u64,
}

impl Part {
    fn add(&mut self, other: Self) {
        self.items += other.items;
        self.finished += other.finished;
        self.attempts += other.attempts;
        self.aside += other.aside;
        self.advised += other.advised;
        self.asked += other.asked;
        self.told_bytes += other.told_bytes;
    }

    /// Attempts for each item that was done, those at the others included; none
    /// where nothing was.
    #[must_use]
    pub fn per_finished(&self) -> Option<f64> {
        ratio(self.attempts, self.finished)
    }

    /// Attempts for each item.
    #[must_use]
    pub fn per_item(&self) -> Option<f64> {
        ratio(self.attempts, self.items)
    }

    /// How often a person was asked about an item.
    #[must_use]
    pub fn asked_per_item(&self) -> Option<f64> {
        ratio(self.asked, self.items)
    }

    /// Bytes of what is known in a prompt.
    #[must_use]
    pub fn told_per_attempt(&self) -> Option<f64> {
        ratio(self.told_bytes, self.attempts)
    }
}

fn ratio(of: u64, by: u64) -> Option<f64> {
    (by > 0).then(|| of as f64 / by as f64)
}

/// How many items took so many attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Took {
    /// Of those that were done.
    pub finished: u64,
    /// Of those that were left out in the end.
    pub left_out: u64,
}

/// What the items of many runs took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Those for which the memory holds what helps.
    pub answerable: Part,
    /// Those for which it does not.
    pub unanswerable: Part,
    /// How many items took so many attempts.
    pub took: BTreeMap<u32, Took>,
}

impl Counts {
    /// Counts one more.
    pub fn take(&mut self, end: &End) {
        let part = if end.is_answerable {
            &mut self.answerable
        } else {
            &mut self.unanswerable
        };
        part.add(Part {
            items: 1,
            finished: u64::from(end.is_finished),
            attempts: u64::from(end.attempts),
            aside: u64::from(end.aside),
            advised: u64::from(end.advised),
            asked: u64::from(end.asked),
            told_bytes: end.told_bytes,
        });
        let took = self.took.entry(end.attempts).or_default();
        if end.is_finished {
            took.finished += 1;
        } else {
            took.left_out += 1;
        }
    }

    /// Counts the items of others as well.
    pub fn add(&mut self, other: &Self) {
        self.answerable.add(other.answerable);
        self.unanswerable.add(other.unanswerable);
        for (attempts, more) in &other.took {
            let took = self.took.entry(*attempts).or_default();
            took.finished += more.finished;
            took.left_out += more.left_out;
        }
    }

    /// All items.
    #[must_use]
    pub fn all(&self) -> Part {
        let mut all = self.answerable;
        all.add(self.unanswerable);
        all
    }
}
