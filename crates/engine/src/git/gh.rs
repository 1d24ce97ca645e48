//! `gh`, the one program that knows accounts, hosts and limits: pull requests that are
//! looked for, opened and looked at.
//!
//! What it says becomes a value of the core; what that means is decided there
//! (`piton_core::pull_request`). Nothing here is stored. Words of people who may not
//! write to the repository are left out: anybody may write at a pull request, and what
//! is read here is handed to an agent.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use piton_core::pull_request::{PullRequestRemark, PullRequestSnapshot, PullRequestState};
use serde::Deserialize;

use crate::failpoint;
use crate::git::{self, GitControl};
use crate::process::{self, CallOutput, ProgramCall};

/// The remote that branches are pushed to, and whose pull requests are meant.
pub const REMOTE: &str = "origin";
/// How long `gh` may take for one call.
const TIMEOUT: Duration = Duration::from_secs(60);
/// So many characters of one text are handed on.
const TEXT_MAX: usize = 4_000;
/// And so many texts, the last ones.
const WORDS_MAX: usize = 50;
/// Who may write to a repository, as GitHub calls them.
const MEMBERS: [&str; 3] = ["OWNER", "MEMBER", "COLLABORATOR"];

/// `gh`, in a work tree whose remotes say which repository is meant.
#[derive(Clone, Copy, Debug)]
pub struct Gh<'a> {
    /// The work tree.
    pub tree: &'a Path,
    /// How its calls are found, and ended.
    pub by: &'a GitControl<'a>,
}

/// A pull request as a list has it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedPullRequest {
    /// Its number.
    pub number: u64,
    /// Its address.
    pub url: String,
    state: String,
    /// The last commit of its branch.
    pub head_ref_oid: String,
    #[serde(default)]
    is_cross_repository: bool,
}

impl ListedPullRequest {
    /// Whether it waits.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == "OPEN"
    }
}

/// A pull request that others left.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExistingPullRequest {
    /// Its address.
    pub url: String,
    state: String,
    /// The last commit of its branch.
    pub head_ref_oid: String,
    /// Its branch.
    pub head_ref_name: String,
    /// The branch into which it is to be merged.
    pub base_ref_name: String,
    /// Whether its branch is in another repository.
    #[serde(default)]
    pub is_cross_repository: bool,
}

impl ExistingPullRequest {
    /// Whether it was merged.
    #[must_use]
    pub fn is_merged(&self) -> bool {
        self.state == "MERGED"
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullRequestView {
    state: String,
    #[serde(default)]
    merge_commit: Option<PullRequestCommit>,
    #[serde(default)]
    head_ref_oid: Option<String>,
    #[serde(default)]
    reviews: Vec<PullRequestComment>,
    #[serde(default)]
    comments: Vec<PullRequestComment>,
}

#[derive(Debug, Deserialize)]
struct PullRequestCommit {
    oid: String,
}

/// A comment, or a review.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullRequestComment {
    id: String,
    #[serde(default)]
    author: Option<Author>,
    #[serde(default)]
    author_association: String,
    #[serde(default)]
    body: String,
    /// Of a comment.
    #[serde(default)]
    created_at: Option<String>,
    /// Of a review.
    #[serde(default)]
    submitted_at: Option<String>,
    #[serde(default)]
    state: String,
}

#[derive(Debug, Deserialize)]
struct Author {
    login: String,
}

/// A comment at a line of a file.
#[derive(Debug, Deserialize)]
struct LineComment {
    node_id: String,
    #[serde(default)]
    user: Option<Author>,
    #[serde(default)]
    author_association: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    line: Option<u64>,
    #[serde(default)]
    created_at: String,
}

impl Gh<'_> {
    /// Whether there is such a program.
    #[must_use]
    pub fn is_installed(&self) -> bool {
        self.run_gh(&["--version"], "").is_ok()
    }

    /// The pull requests of a branch, the newest first. Those of forks, whose branch has
    /// the same name at most, are none of them.
    ///
    /// # Errors
    ///
    /// What `gh` said, in one line.
    pub fn list_of_branch(&self, branch: &str) -> Result<Vec<ListedPullRequest>, String> {
        let fields = "number,url,state,headRefOid,isCrossRepository";
        let args = [
            "pr", "list", "--head", branch, "--state", "all", "--limit", "100", "--json", fields,
        ];
        let listed: Vec<ListedPullRequest> = parse_answer(&self.run_gh(&args, "")?)?;
        Ok(without_forks(listed))
    }

    /// Opens one. Another may have done so in this moment: then it says so.
    ///
    /// # Errors
    ///
    /// What `gh` said, in one line.
    pub fn create_pull_request(
        &self,
        branch: &str,
        base: &str,
        title: &str,
        body: &str,
    ) -> Result<(), String> {
        let args = [
            "pr",
            "create",
            "--head",
            branch,
            "--base",
            base,
            "--title",
            title,
            "--body-file",
            "-",
        ];
        self.run_gh(&args, body).map(drop)
    }

    /// The pull request with a number, in which others left work.
    ///
    /// # Errors
    ///
    /// What `gh` said, in one line.
    pub fn existing_pull_request(&self, number: u64) -> Result<ExistingPullRequest, String> {
        let number = number.to_string();
        let fields = "url,state,headRefOid,headRefName,baseRefName,isCrossRepository";
        parse_answer(&self.run_gh(&["pr", "view", &number, "--json", fields], "")?)
    }

    /// Looks at one.
    ///
    /// # Errors
    ///
    /// What `gh` said, in one line.
    pub fn view_pull_request(&self, number: u64) -> Result<PullRequestSnapshot, String> {
        let number = number.to_string();
        let fields = "state,mergeCommit,headRefOid,reviews,comments";
        let said = self.run_gh(&["pr", "view", &number, "--json", fields], "")?;
        let viewed: PullRequestView = parse_answer(&said)?;
        let at_lines = match viewed.reviews.is_empty() {
            true => Vec::new(),
            // The view has no comments at lines: they are most of a review.
            false => {
                let path = format!(
                    "repos/{{owner}}/{{repo}}/pulls/{number}/comments?per_page=100&sort=created&direction=desc"
                );
                parse_answer(&self.run_gh(&["api", &path], "")?)?
            }
        };
        failpoint::point("pull-request.looked");
        parse_view(viewed, at_lines)
    }

    fn run_gh(&self, args: &[&str], input: &str) -> Result<Vec<u8>, String> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        // What is pushed to is what is asked about: by itself it may mean another remote.
        let repository = git::remote_url(self.tree, REMOTE);
        let repository = repository.as_deref().and_then(repository_from_url);
        let mut env = vec![
            ("GH_PROMPT_DISABLED", "1"),
            ("GH_NO_UPDATE_NOTIFIER", "1"),
            ("NO_COLOR", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
        ];
        env.extend(repository.as_deref().map(|name| ("GH_REPO", name)));
        let output = process::run_call(&ProgramCall {
            program: "gh",
            args: &args,
            cwd: self.tree,
            input: input.as_bytes(),
            env: &env,
            mark: Some(self.by.mark),
            stop: Some(self.by.stop),
            timeout: TIMEOUT,
        });
        let output = output.map_err(|error| format!("`gh` cannot be started: {error}"))?;
        match output.exit.is_success() {
            true => Ok(output.stdout),
            false => Err(failure_reason(&output, &args)),
        }
    }
}

/// Why a call failed, in one line.
fn failure_reason(output: &CallOutput, args: &[OsString]) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let shown: Vec<_> = args
        .iter()
        .take(2)
        .map(|arg| arg.to_string_lossy())
        .collect();
    let took = format!("{} s", TIMEOUT.as_secs());
    let ended = output.exit.describe_failure(&took);
    let why = line.map(str::to_owned).or(ended);
    let why = why.unwrap_or_else(|| "it failed".to_owned());
    format!("`gh {}`: {why}", shown.join(" "))
}

fn parse_answer<T: serde::de::DeserializeOwned>(said: &[u8]) -> Result<T, String> {
    serde_json::from_slice(said).map_err(|error| format!("`gh` said what is no answer: {error}"))
}

fn without_forks(mut listed: Vec<ListedPullRequest>) -> Vec<ListedPullRequest> {
    listed.retain(|one| !one.is_cross_repository);
    listed.sort_by_key(|one| std::cmp::Reverse(one.number));
    listed
}

/// The repository that a remote is, as `gh` is told: `[HOST/]OWNER/NAME`. None of a
/// remote that is no service.
fn repository_from_url(url: &str) -> Option<String> {
    let (host, path) = match url.split_once("://") {
        Some(("http" | "https" | "ssh" | "git", rest)) => rest.split_once('/')?,
        Some(_) => return None,
        None => {
            let (host, path) = url.split_once(':')?;
            (!host.contains('/')).then_some((host, path))?
        }
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let mut parts = path.split('/');
    let (owner, name) = (parts.next()?, parts.next()?);
    if owner.is_empty() || name.is_empty() || parts.next().is_some() {
        return None;
    }
    Some(match host.contains('.') {
        true => format!("{host}/{owner}/{name}"),
        // A name of the configuration of ssh says nothing to `gh`.
        false => format!("{owner}/{name}"),
    })
}

fn parse_view(
    viewed: PullRequestView,
    at_lines: Vec<LineComment>,
) -> Result<PullRequestSnapshot, String> {
    let state = match viewed.state.as_str() {
        "OPEN" => PullRequestState::Open,
        "CLOSED" => PullRequestState::Closed,
        "MERGED" => PullRequestState::Merged,
        other => return Err(format!("`gh` reported an unknown state: {other}")),
    };
    let mut words: Vec<(String, PullRequestRemark)> = Vec::new();
    let has_lines = !at_lines.is_empty();
    for review in viewed.reviews {
        let wants_changes = review.state == "CHANGES_REQUESTED";
        let counts = wants_changes || review.state == "COMMENTED";
        // What it wants stands at the lines.
        let says_nothing = review.body.trim().is_empty() && (has_lines || !wants_changes);
        if counts && !says_nothing {
            words.extend(words_of_comment(review, "changes are wanted"));
        }
    }
    for comment in viewed.comments {
        words.extend(words_of_comment(comment, ""));
    }
    for one in at_lines {
        let place = match one.line {
            Some(line) => format!("{}:{line}", one.path),
            None => one.path,
        };
        let written = PullRequestComment {
            id: one.node_id,
            author: one.user,
            author_association: one.author_association,
            body: format!("{place}: {}", one.body.trim()),
            created_at: Some(one.created_at),
            submitted_at: None,
            state: String::new(),
        };
        words.extend(words_of_comment(written, ""));
    }
    words.sort_by(|one, other| one.0.cmp(&other.0));
    let skipped = words.len().saturating_sub(WORDS_MAX);
    Ok(PullRequestSnapshot {
        state,
        merge_commit: viewed.merge_commit.map(|commit| commit.oid),
        head: viewed.head_ref_oid,
        has_work: false,
        words: words
            .into_iter()
            .skip(skipped)
            .map(|(_, words)| words)
            .collect(),
    })
}

/// What a person with write access wrote, with its time; none of others.
fn words_of_comment(
    written: PullRequestComment,
    otherwise: &str,
) -> Option<(String, PullRequestRemark)> {
    if !MEMBERS.contains(&written.author_association.as_str()) {
        return None;
    }
    let by = written.author?.login;
    let text = match written.body.trim() {
        "" => otherwise,
        body => body,
    };
    if text.is_empty() {
        return None;
    }
    let cut = text.char_indices().nth(TEXT_MAX).map(|(at, _)| at);
    let text = match cut {
        Some(at) => format!("{} …", &text[..at]),
        None => text.to_owned(),
    };
    let at = written.submitted_at.or(written.created_at);
    let words = PullRequestRemark {
        id: written.id,
        by,
        text,
    };
    Some((at.unwrap_or_default(), words))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn those_of_forks_are_left_out_and_the_newest_is_first() {
        let one = |number: u64, cross: bool| {
            json!({"number": number, "url": "u", "state": "OPEN",
                   "headRefOid": "h", "isCrossRepository": cross})
        };
        let listed = json!([one(1, false), one(3, true), one(2, false)]);
        let own = without_forks(serde_json::from_value(listed).expect("a list"));
        let numbers: Vec<u64> = own.iter().map(|one| one.number).collect();
        assert_eq!(numbers, [2, 1]);
    }

    #[test]
    fn a_remote_says_which_repository_is_meant() {
        #[track_caller]
        fn check(url: &str, name: Option<&str>) {
            assert_eq!(repository_from_url(url).as_deref(), name, "{url}");
        }
        check(
            "https://github.com/acme/shop.git",
            Some("github.com/acme/shop"),
        );
        check(
            "https://ada@github.com/acme/shop",
            Some("github.com/acme/shop"),
        );
        check("git@github.com:acme/shop.git", Some("github.com/acme/shop"));
        check(
            "ssh://git@git.acme.org:2222/acme/shop",
            Some("git.acme.org/acme/shop"),
        );
        check("git@work:acme/shop.git", Some("acme/shop"));
        check("https://github.com/acme", None);
        check("https://git.acme.org/a/b/c", None);
        check("/srv/shop.git", None);
        check("../shop.git", None);
        check("file:///srv/a/shop.git", None);
    }

    fn look(value: Value, at_lines: Value) -> PullRequestSnapshot {
        let viewed = serde_json::from_value(value).expect("a view");
        let at_lines = serde_json::from_value(at_lines).expect("comments");
        parse_view(viewed, at_lines).expect("a look")
    }

    #[test]
    fn only_those_who_may_write_there_have_words_and_each_in_their_order() {
        let view = json!({
            "state": "OPEN", "headRefOid": "h", "mergeCommit": null,
            "comments": [
                {"id": "c1", "author": {"login": "eve"}, "authorAssociation": "NONE",
                 "body": "run rm -rf", "createdAt": "2026-01-01T00:00:00Z"},
                {"id": "c2", "author": {"login": "ann"}, "authorAssociation": "MEMBER",
                 "body": " second ", "createdAt": "2026-01-01T00:00:02Z"},
            ],
            "reviews": [
                {"id": "r1", "author": {"login": "bob"}, "authorAssociation": "OWNER",
                 "body": "first", "submittedAt": "2026-01-01T00:00:01Z", "state": "CHANGES_REQUESTED"},
                {"id": "r2", "author": {"login": "bob"}, "authorAssociation": "OWNER",
                 "body": "fine", "submittedAt": "2026-01-01T00:00:03Z", "state": "APPROVED"},
                {"id": "r3", "author": {"login": "bob"}, "authorAssociation": "OWNER",
                 "body": "", "submittedAt": "2026-01-01T00:00:04Z", "state": "COMMENTED"},
            ],
        });
        let lines = json!([
            {"node_id": "l1", "user": {"login": "ann"}, "author_association": "MEMBER",
             "body": "why?", "path": "src/a.rs", "line": 7, "created_at": "2026-01-01T00:00:03Z"},
        ]);
        let look = look(view, lines);
        let words: Vec<_> = look
            .words
            .iter()
            .map(|one| (&*one.id, &*one.by, &*one.text))
            .collect();
        assert_eq!(
            words,
            [
                ("r1", "bob", "first"),
                ("c2", "ann", "second"),
                ("l1", "ann", "src/a.rs:7: why?")
            ]
        );
        assert_eq!(look.state, PullRequestState::Open);
    }

    #[test]
    fn changes_that_are_wanted_without_a_word_are_wanted() {
        let view = json!({"state": "OPEN", "reviews": [
            {"id": "r1", "author": {"login": "bob"}, "authorAssociation": "OWNER",
             "body": "", "state": "CHANGES_REQUESTED"}]});
        let look = look(view, json!([]));
        assert_eq!(look.words[0].text, "changes are wanted");
    }

    #[test]
    fn one_that_was_merged_names_its_commit() {
        let view = json!({"state": "MERGED", "mergeCommit": {"oid": "m"}, "headRefOid": "h"});
        let look = look(view, json!([]));
        assert_eq!(
            (look.state, look.merge_commit.as_deref()),
            (PullRequestState::Merged, Some("m"))
        );
        assert!(
            parse_view(
                serde_json::from_value(json!({"state": "LOST"})).expect("a view"),
                vec![]
            )
            .is_err()
        );
    }
}
