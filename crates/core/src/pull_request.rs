//! A pull request: where the work on a unit goes instead of the merge queue, and what
//! a look at it means.
//!
//! The work is done when the pull request is merged there. What a look brings is
//! decided by [`find_news`] alone, of what was known and what was seen. How
//! it is opened and looked at is the engine's; the stages are those of the merge queue
//! ([`crate::merge`]). See `docs/design/0035-pull-requests.md`.

use serde::{Deserialize, Serialize};

use crate::id::Node;

/// So often a pull request that waits is looked at, in seconds.
pub const LOOK_EVERY_S: i64 = 60;
/// After so many seconds in which it could not be opened or seen a person is asked.
pub const FAILING_S: i64 = 3_600;
/// The same where a runner that is not to wait has nothing else to do.
pub const FAILING_IDLE_S: i64 = 300;
/// So many are looked at at once.
pub const LOOKED_AT_ONCE: usize = 4;
/// So often work is given back for what is written at a pull request before a person
/// says here whether it goes on: what answers each push by itself would never end.
pub const RETURNS_MAX: u32 = 10;

/// What is known of the pull request of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequestRow {
    /// The branch that is pushed.
    pub branch: String,
    /// The branch into which it is to be merged.
    pub base: String,
    /// The commit of the work that is to stand in it.
    pub head: String,
    /// The commits that were pushed before, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Its number; none before it is known, and where another one is to be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// That commit is pushed, and stands in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_open: bool,
    /// It was closed without a merge, and a person is asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// Why it cannot be opened or seen, and a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The commit by which it was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<String>,
    /// The ids of the words of people that an agent was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<String>,
    /// How often the work was given back for such words since a person was asked here.
    #[serde(default, skip_serializing_if = "crate::item::is_zero")]
    pub returns: u32,
    /// It was given back so often that a person is asked before it is again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// How the plan names the one in which others left the work: `org/repo#7`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<String>,
}

impl PullRequestRow {
    /// Whether others left it, and it was not looked at yet.
    #[must_use]
    pub fn is_unadopted(&self) -> bool {
        self.branch.is_empty() && self.number.is_some()
    }

    /// As other tools name it: `org/repo#7`, as far as its address says so.
    #[must_use]
    pub fn short_reference(&self) -> Option<String> {
        reference_of_url(self.url.as_deref()?, self.number?)
    }

    /// What people are to know it by: its number.
    #[must_use]
    pub fn display_name(&self) -> String {
        match self.number {
            Some(number) => format!("pull request #{number}"),
            None => "the pull request".to_owned(),
        }
    }
}

/// How other tools name the pull request at an address: `org/repo#7`, as far as that says
/// so.
#[must_use]
pub fn reference_of_url(url: &str, number: u64) -> Option<String> {
    let (before, _) = url.split_once("/pull/")?;
    let mut parts = before.rsplit('/');
    let (repository, owner) = (parts.next()?, parts.next()?);
    let is_name = |part: &str| !part.is_empty() && !part.contains(':');
    let has_names = is_name(repository) && is_name(owner);
    has_names.then(|| format!("{owner}/{repository}#{number}"))
}

/// Whether a name of a pull request (`org/repo#7`), or an address, is that of another one
/// than the one at an address. What is neither is not.
#[must_use]
pub fn is_other_pull_request(named: &str, url: &str) -> bool {
    if named.contains("://") {
        let plain = |text: &str| text.trim_end_matches('/').to_ascii_lowercase();
        let (named, url) = (plain(named), plain(url));
        return named != url && !named.starts_with(&format!("{url}/"));
    }
    let number = named.rsplit_once('#').and_then(|(_, it)| it.parse().ok());
    let there = number.and_then(|number| reference_of_url(url, number));
    there.is_some_and(|there| named.contains('/') && !there.eq_ignore_ascii_case(named))
}

/// How a pull request stands where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PullRequestState {
    /// It waits.
    Open,
    /// It was closed without a merge.
    Closed,
    /// It was merged.
    Merged,
}

/// What a person wrote at a pull request. Only people who may write to the repository
/// count, since it is handed to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestRemark {
    /// By which they are known there.
    pub id: String,
    /// Who.
    pub by: String,
    /// What.
    pub text: String,
}

/// What was seen of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestSnapshot {
    /// How it stands.
    pub state: PullRequestState,
    /// The commit by which it was merged; none where that is not known yet.
    pub merge_commit: Option<String>,
    /// The last commit of its branch.
    pub head: Option<String>,
    /// Whether that has the work which is to stand in it, where it is another commit.
    pub has_work: bool,
    /// What people wrote, the oldest first: reviews that approve are not among it.
    pub words: Vec<PullRequestRemark>,
}

/// What a look at a pull request brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum PullRequestNews {
    /// It was merged.
    Merged {
        /// By this commit.
        commit: String,
    },
    /// It was merged as it was before the last work was pushed: the rest needs
    /// another one.
    MergedBefore {
        /// The commit that stood in it.
        head: String,
    },
    /// It was closed without a merge.
    Closed {
        /// What people wrote that no agent was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        words: Option<String>,
    },
    /// It waits again: it was reopened, or can be seen again.
    Open,
    /// People want it otherwise, or wrote something.
    Words {
        /// Who, in words.
        by: String,
        /// What they wrote.
        words: String,
        /// The ids of it.
        ids: Vec<String>,
    },
    /// The one in which others left the work is not there, or is no use.
    Lost {
        /// Why.
        why: String,
    },
    /// It was given back too often for what is written there.
    Held {
        /// That, in words.
        why: String,
    },
    /// It could not be opened or seen for long.
    Trouble {
        /// Why.
        why: String,
    },
}

/// What a look means; none where nothing is new.
///
/// What was merged is merged, whatever else is there, as far as the work was in it. Of
/// one that is closed a person decides, who sees what was written; what was written at an
/// open one goes to an agent. One in which the work does not stand yet waits for a person
/// who is asked about that.
#[must_use]
pub fn find_news(known: &PullRequestRow, look: &PullRequestSnapshot) -> Option<PullRequestNews> {
    let new = look
        .words
        .iter()
        .filter(|words| !known.heard.contains(&words.id));
    let new: Vec<&PullRequestRemark> = new.collect();
    match look.state {
        PullRequestState::Merged => {
            let is_without = |head: &&String| **head != known.head && !look.has_work;
            if let Some(head) = look.head.as_ref().filter(is_without) {
                return Some(PullRequestNews::MergedBefore { head: head.clone() });
            }
            let commit = look.merge_commit.clone()?;
            Some(PullRequestNews::Merged { commit })
        }
        PullRequestState::Closed | PullRequestState::Open if !known.is_open => None,
        PullRequestState::Closed if known.closed => None,
        PullRequestState::Closed => {
            let words = (!new.is_empty()).then(|| render_remarks(&new));
            Some(PullRequestNews::Closed { words })
        }
        PullRequestState::Open if known.held => None,
        PullRequestState::Open if !new.is_empty() && known.returns >= RETURNS_MAX => {
            let why = format!(
                "it was given back {} times for what is written there, and there is more",
                known.returns
            );
            Some(PullRequestNews::Held { why })
        }
        PullRequestState::Open if !new.is_empty() => {
            let mut by: Vec<&str> = Vec::new();
            for words in &new {
                if !by.contains(&words.by.as_str()) {
                    by.push(&words.by);
                }
            }
            Some(PullRequestNews::Words {
                by: by.join(", "),
                words: render_remarks(&new),
                ids: new.iter().map(|words| words.id.clone()).collect(),
            })
        }
        PullRequestState::Open if known.closed || known.trouble.is_some() => {
            Some(PullRequestNews::Open)
        }
        PullRequestState::Open => None,
    }
}

/// What several people wrote, each with a name where there are several.
fn render_remarks(words: &[&PullRequestRemark]) -> String {
    let one = |words: &&PullRequestRemark| format!("{}: {}", words.by, words.text.trim());
    let first = words.first().map(|words| &words.by);
    let is_by_one = words.iter().all(|words| Some(&words.by) == first);
    let texts = words.iter().map(|words| match is_by_one {
        true => words.text.trim().to_owned(),
        false => one(words),
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// A pull request in which others left the work of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdoptedPullRequest {
    /// Its number.
    pub number: u64,
    /// Its address.
    pub url: String,
    /// The commit of its work.
    pub head: String,
    /// The branch that has it.
    pub branch: String,
    /// The branch into which it is to be merged.
    pub base: String,
}

/// One step of the pull request of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "step")]
pub enum PullRequestStep {
    /// Note the intent to open one with the work as it is now.
    Ask,
    /// Go on with the one in which others left the work.
    Take(AdoptedPullRequest),
    /// It is open, with this commit.
    Opened {
        /// The commit.
        head: String,
        /// Its number.
        number: u64,
        /// Its address.
        url: String,
    },
    /// It was looked at.
    Saw {
        /// What that brought.
        news: PullRequestNews,
    },
}

/// The branch that is pushed for a unit of a run.
///
/// It lies beside `piton/RUN`, of which a branch below it could not be checked out
/// where that one is. Two units never have one: what is no plain name is written as
/// `%` and its bytes in hex.
#[must_use]
pub fn branch_of_unit(run: &str, unit: &Node) -> String {
    format!(
        "piton-pr/{}/{}",
        escape_branch_part(run),
        escape_branch_part(unit.as_str())
    )
}

fn escape_branch_part(name: &str) -> String {
    let mut plain = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'#' => {
                plain.push(char::from(byte));
            }
            _ => plain.push_str(&format!("%{byte:02x}")),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(change: impl FnOnce(&mut PullRequestRow)) -> PullRequestRow {
        let mut row = PullRequestRow {
            head: "new".to_owned(),
            before: vec!["old".to_owned()],
            number: Some(7),
            is_open: true,
            heard: vec!["c1".to_owned()],
            ..PullRequestRow::default()
        };
        change(&mut row);
        row
    }

    fn look(state: PullRequestState, words: &[(&str, &str, &str)]) -> PullRequestSnapshot {
        let words = words.iter().map(|(id, by, text)| PullRequestRemark {
            id: (*id).to_owned(),
            by: (*by).to_owned(),
            text: (*text).to_owned(),
        });
        PullRequestSnapshot {
            state,
            merge_commit: None,
            head: Some("new".to_owned()),
            has_work: false,
            words: words.collect(),
        }
    }

    fn merged(head: &str, commit: Option<&str>) -> PullRequestSnapshot {
        PullRequestSnapshot {
            merge_commit: commit.map(str::to_owned),
            head: Some(head.to_owned()),
            ..look(PullRequestState::Merged, &[("c2", "ann", "no!")])
        }
    }

    #[track_caller]
    fn check(known: &PullRequestRow, look: &PullRequestSnapshot, meant: &str) {
        let news = find_news(known, look);
        let said = serde_json::to_string(&news).expect("plain");
        assert_eq!(said, meant);
    }

    #[test]
    fn a_look_means_what_the_table_of_the_design_says() {
        use PullRequestState::{Closed, Open};
        let plain = known(|_| {});
        let closed = known(|row| row.closed = true);
        let unseen = known(|row| row.trouble = Some("no network".to_owned()));
        let old = ("c1", "ann", "known");
        let one = ("c2", "ann", " make it blue \n");
        let two = ("r3", "bob", "and small");
        // What was merged is, whatever people wrote, and whatever was known.
        for known in [&plain, &closed, &unseen] {
            check(
                known,
                &merged("new", Some("m")),
                r#"{"what":"merged","commit":"m"}"#,
            );
        }
        // A person brought the branch up to date, or worked on in it; or on what stood
        // there before.
        let of_people = merged("of people", Some("m"));
        let with_work = PullRequestSnapshot {
            has_work: true,
            ..of_people.clone()
        };
        check(&plain, &with_work, r#"{"what":"merged","commit":"m"}"#);
        check(
            &plain,
            &of_people,
            r#"{"what":"merged-before","head":"of people"}"#,
        );
        // It does not stand there yet, and a person is asked why.
        let not_there = known(|row| {
            row.is_open = false;
            row.trouble = Some("no".to_owned());
        });
        check(&not_there, &look(Open, &[one]), "null");
        check(&not_there, &look(Closed, &[one]), "null");
        check(&not_there, &with_work, r#"{"what":"merged","commit":"m"}"#);
        // What answers each push by itself ends.
        let often = known(|row| row.returns = RETURNS_MAX);
        check(
            &often,
            &look(Open, &[one]),
            r#"{"what":"held","why":"it was given back 10 times for what is written there, and there is more"}"#,
        );
        let held = known(|row| row.held = true);
        check(&held, &look(Open, &[one]), "null");
        check(&held, &look(Closed, &[]), r#"{"what":"closed"}"#);
        check(
            &plain,
            &merged("old", Some("m")),
            r#"{"what":"merged-before","head":"old"}"#,
        );
        check(&plain, &merged("new", None), "null");
        check(&plain, &look(Closed, &[old]), r#"{"what":"closed"}"#);
        check(
            &plain,
            &look(Closed, &[old, one]),
            r#"{"what":"closed","words":"make it blue"}"#,
        );
        check(&closed, &look(Closed, &[one]), "null");
        check(&closed, &look(Open, &[old]), r#"{"what":"open"}"#);
        check(&unseen, &look(Open, &[old]), r#"{"what":"open"}"#);
        check(&plain, &look(Open, &[old]), "null");
        check(
            &plain,
            &look(Open, &[old, one]),
            r#"{"what":"words","by":"ann","words":"make it blue","ids":["c2"]}"#,
        );
        check(
            &closed,
            &look(Open, &[one, two, old]),
            r#"{"what":"words","by":"ann, bob","words":"ann: make it blue\n\nbob: and small","ids":["c2","r3"]}"#,
        );
    }

    /// What was pushed before and is pushed again is no earlier work.
    #[test]
    fn what_was_merged_as_it_is_now_is_merged_though_it_was_pushed_before() {
        let again = known(|row| row.before.push("new".to_owned()));
        check(
            &again,
            &merged("new", Some("m")),
            r#"{"what":"merged","commit":"m"}"#,
        );
    }

    #[test]
    fn an_address_names_the_repository() {
        let of = |url: &str| {
            let row = known(|row| row.url = Some(url.to_owned()));
            row.short_reference()
        };
        let shop = "https://github.com/acme/shop/pull/7";
        assert_eq!(of(shop).as_deref(), Some("acme/shop#7"));
        assert_eq!(of("https://github.com/pull/7"), None);
        assert_eq!(of("nowhere"), None);
    }

    #[test]
    fn no_two_units_have_one_branch() {
        let of = |unit: &str| branch_of_unit("my run", &Node::from_text(unit));
        assert_eq!(of("LIN-7"), "piton-pr/my%20run/LIN-7");
        assert_eq!(of("repo#1"), "piton-pr/my%20run/repo#1");
        assert_eq!(of("a/b.lock"), "piton-pr/my%20run/a%2fb%2elock");
        assert_eq!(of("a%2fb"), "piton-pr/my%20run/a%252fb");
    }
}
