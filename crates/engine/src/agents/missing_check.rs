//! Looks up whether what a blocker says is missing is missing.
//!
//! What a text claims is found by `piton_core::claim`. This module looks into the
//! environment that agents get, the work tree, `PATH`, and the ports of this
//! machine. No file is opened. A port is connected to, and nothing is sent to it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use piton_core::Outcome;
use piton_core::attempt::Report;
use piton_core::claim::{self, ClaimVerdict, MissingThing};
use piton_core::classify::FailureCategory;
use piton_core::observation::ObservationKind;

/// How long a port of this machine has for an answer.
const PORT_TIMEOUT: Duration = Duration::from_millis(300);

/// Where agents work.
#[derive(Clone, Copy, Debug)]
pub struct ClaimEnvironment<'a> {
    /// The environment that they get.
    pub env: &'a BTreeMap<String, String>,
    /// The folder that they work in.
    pub work_tree: &'a Path,
}

/// What looking for one thing showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedClaim {
    /// What was said to be missing.
    pub claim: MissingThing,
    /// What was seen of it; none where it is missing.
    pub seen: Option<String>,
}

/// Looks for each thing that is said to be missing.
#[must_use]
pub fn check_claims(claims: Vec<MissingThing>, place: &ClaimEnvironment<'_>) -> Vec<CheckedClaim> {
    let look = |claim: MissingThing| CheckedClaim {
        seen: find_claimed(&claim, place),
        claim,
    };
    claims.into_iter().map(look).collect()
}

/// What comes of all that was looked for.
#[must_use]
pub fn verdict_of_claims(looked: &[CheckedClaim]) -> ClaimVerdict {
    let missing: Vec<bool> = looked.iter().map(|one| one.seen.is_none()).collect();
    claim::verdict_of_claims(&missing)
}

/// Looks a report's blocker up and says in its context what came of it, unless
/// that was said already. None where there is no blocker.
pub fn record_blocker_check(
    report: &mut Report,
    place: &ClaimEnvironment<'_>,
) -> Option<Vec<CheckedClaim>> {
    let text = blocker_text(report)?;
    let looked = check_claims(claim::find_missing(&text), place);
    let ClaimVerdict { verified, valid } = verdict_of_claims(&looked);
    let context = report.context.get_or_insert_default();
    if context.blocker_verified.is_none() && context.blocker_valid.is_none() {
        context.blocker_verified = Some(verified);
        context.blocker_valid = valid;
    }
    Some(looked)
}

/// The same for an agent's own report: to be blocked by nothing but what is not
/// missing is a failure like any other. It is tried again, or asked about.
pub fn fail_refuted_blocker(report: &mut Report, place: &ClaimEnvironment<'_>) {
    let Some(looked) = record_blocker_check(report, place) else {
        return;
    };
    // What it noticed on the way is not what it says that it is blocked by.
    if own_blocker_text(report).is_none() || verdict_of_claims(&looked).valid != Some(false) {
        return;
    }
    let mut error = describe_contradiction(&looked);
    if let Some(said) = report.error.as_ref().or(report.summary.as_ref()) {
        // Writing to a text cannot fail.
        write!(error, "\n{said}").ok();
    }
    report.outcome = Outcome::Failed;
    report.category = Some(FailureCategory::Logic);
    report.error = Some(error);
}

/// What a blocked report says of why it is.
fn own_blocker_text(report: &Report) -> Option<&String> {
    let said = report.error.as_ref().or(report.summary.as_ref());
    said.filter(|_| report.outcome == Outcome::Blocked)
}

/// The words in which a report tells of a blocker: its own, or else those of the
/// blockers that were noticed. None where it tells of none.
fn blocker_text(report: &Report) -> Option<String> {
    if let Some(said) = own_blocker_text(report) {
        return Some(said.clone());
    }
    let noticed: Vec<&str> = report
        .observations
        .iter()
        .filter(|seen| seen.kind == ObservationKind::Blocker)
        .flat_map(|seen| [Some(seen.title.as_str()), seen.description.as_deref()])
        .flatten()
        .collect();
    (report.outcome == Outcome::Blocked || !noticed.is_empty()).then(|| noticed.join("\n"))
}

/// `it said that X is missing, but it is there: the variable is set`.
fn describe_contradiction(looked: &[CheckedClaim]) -> String {
    let names: Vec<String> = looked.iter().map(|one| claim_name(&one.claim)).collect();
    let seen: Vec<&str> = looked
        .iter()
        .filter_map(|one| one.seen.as_deref())
        .collect();
    let (are, they) = if looked.len() == 1 {
        ("is", "it is")
    } else {
        ("are", "they are")
    };
    format!(
        "it said that {} {are} missing, but {they} there: {}",
        names.join(" and "),
        seen.join("; ")
    )
}

fn claim_name(claim: &MissingThing) -> String {
    match claim {
        MissingThing::Variable(name) | MissingThing::File(name) | MissingThing::Command(name) => {
            format!("`{name}`")
        }
        MissingThing::Port(port) => format!("port {port}"),
    }
}

/// What there is of it; none where it is missing.
fn find_claimed(claim: &MissingThing, place: &ClaimEnvironment<'_>) -> Option<String> {
    match claim {
        // An empty one is as good as none.
        MissingThing::Variable(name) => {
            place.env.get(name).filter(|value| !value.is_empty())?;
            Some(format!("the variable `{name}` is set"))
        }
        MissingThing::File(name) => {
            let path = find_file(name, place)?;
            Some(format!("there is {}", path.display()))
        }
        MissingThing::Command(name) => {
            let path = find_command(name, place)?;
            Some(format!("`{name}` is {}", path.display()))
        }
        MissingThing::Port(port) => {
            let address = find_listener(*port)?;
            Some(format!("something listens at {address}"))
        }
    }
}

fn find_file(name: &str, place: &ClaimEnvironment<'_>) -> Option<PathBuf> {
    let path = match (name.strip_prefix("~/"), place.env.get("HOME")) {
        (Some(rest), Some(home)) => Path::new(home).join(rest),
        _ => place.work_tree.join(name),
    };
    path.exists().then_some(path)
}

/// The program of that name that a shell in the work tree would start.
fn find_command(name: &str, place: &ClaimEnvironment<'_>) -> Option<PathBuf> {
    let path = place.env.get("PATH")?;
    std::env::split_paths(path)
        .map(|folder| place.work_tree.join(folder).join(name))
        .find(|program| {
            program.is_file() && rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok()
        })
}

fn find_listener(port: u16) -> Option<SocketAddr> {
    [
        IpAddr::from(Ipv4Addr::LOCALHOST),
        IpAddr::from(Ipv6Addr::LOCALHOST),
    ]
    .into_iter()
    .map(|host| SocketAddr::new(host, port))
    .find(|address| TcpStream::connect_timeout(address, PORT_TIMEOUT).is_ok())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt as _;

    use piton_core::observation::Observation;

    use super::*;

    /// A folder with `config/keys.json` and `bin/cmake`, and an environment.
    struct Scene {
        folder: tempfile::TempDir,
        env: BTreeMap<String, String>,
    }

    impl Scene {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let write = |name: &str, mode| {
                let path = folder.path().join(name);
                std::fs::create_dir_all(path.parent().expect("it has one")).expect("made");
                std::fs::write(&path, "x").expect("written");
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(&path, mode).expect("set");
            };
            write("config/keys.json", 0o644);
            write("bin/cmake", 0o755);
            write("bin/ninja", 0o644);
            write("home/.netrc", 0o600);
            let home = folder.path().join("home").display().to_string();
            let env = [
                ("FOO_TOKEN", "x"),
                ("EMPTY_TOKEN", ""),
                ("PATH", "/nowhere:bin"),
                ("HOME", &home),
            ];
            let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
            Self {
                folder,
                env: env.into(),
            }
        }

        fn place(&self) -> ClaimEnvironment<'_> {
            ClaimEnvironment {
                env: &self.env,
                work_tree: self.folder.path(),
            }
        }

        /// Whether a thing is there.
        #[track_caller]
        fn check(&self, claim: &MissingThing, expect: bool) {
            assert_eq!(
                find_claimed(claim, &self.place()).is_some(),
                expect,
                "{claim:?}"
            );
        }
    }

    fn blocked(error: &str) -> Report {
        Report {
            error: Some(error.to_owned()),
            ..Report::with_outcome(Outcome::Blocked)
        }
    }

    #[test]
    fn things_are_looked_for_where_agents_would_find_them() {
        let scene = Scene::new();
        let variable = |name: &str| MissingThing::Variable(name.to_owned());
        let file = |name: &str| MissingThing::File(name.to_owned());
        let command = |name: &str| MissingThing::Command(name.to_owned());
        scene.check(&variable("FOO_TOKEN"), true);
        scene.check(&variable("EMPTY_TOKEN"), false);
        scene.check(&variable("NO_TOKEN"), false);
        scene.check(&file("config/keys.json"), true);
        scene.check(&file("config"), true);
        scene.check(&file("config/none.json"), false);
        scene.check(&file("/"), true);
        scene.check(&file("/no/such/file"), false);
        scene.check(&file("~/.netrc"), true);
        scene.check(&file("~/.none"), false);
        scene.check(&command("cmake"), true);
        // It is there, and cannot be started.
        scene.check(&command("ninja"), false);
        scene.check(&command("meson"), false);
    }

    #[test]
    fn a_port_is_there_when_something_listens() {
        let scene = Scene::new();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("it has one").port();
        scene.check(&MissingThing::Port(port), true);
        drop(listener);
        scene.check(&MissingThing::Port(port), false);
        // Where there is no IPv6 there is nothing to look at.
        if let Ok(listener) = TcpListener::bind("[::1]:0") {
            let port = listener.local_addr().expect("it has one").port();
            scene.check(&MissingThing::Port(port), true);
        }
    }

    /// The outcome of a report, and what its context says of its blocker.
    #[track_caller]
    fn check(report: Report, outcome: Outcome, verified: bool, valid: Option<bool>) -> Report {
        let scene = Scene::new();
        let mut report = report;
        fail_refuted_blocker(&mut report, &scene.place());
        let context = report.context.clone().unwrap_or_default();
        assert_eq!(
            (
                report.outcome,
                context.blocker_verified,
                context.blocker_valid
            ),
            (outcome, Some(verified), valid)
        );
        report
    }

    #[test]
    fn to_be_blocked_by_what_is_there_is_a_failure() {
        let false_claim = blocked("FOO_TOKEN is not set");
        let report = check(false_claim, Outcome::Failed, true, Some(false));
        assert_eq!(report.category, Some(FailureCategory::Logic));
        assert_eq!(
            report.error.as_deref(),
            Some(
                "it said that `FOO_TOKEN` is missing, but it is there: the variable `FOO_TOKEN` is set\nFOO_TOKEN is not set"
            )
        );
        let two = blocked("neither FOO_TOKEN nor config/keys.json is there");
        let report = check(two, Outcome::Failed, true, Some(false));
        let error = report.error.unwrap_or_default();
        assert!(
            error.starts_with(
                "it said that `FOO_TOKEN` and `config/keys.json` are missing, but they are there: "
            ),
            "{error}"
        );
    }

    #[test]
    fn a_blocker_stands_when_one_thing_is_missing_or_nothing_can_be_looked_up() {
        let valid = Some(true);
        let one = blocked("FOO_TOKEN and NO_TOKEN are not set: both are missing");
        check(one, Outcome::Blocked, true, valid);
        let refused = blocked("the server refuses what is in FOO_TOKEN");
        check(refused, Outcome::Blocked, false, None);
        check(blocked("which of the two?"), Outcome::Blocked, false, None);
        check(
            Report::with_outcome(Outcome::Blocked),
            Outcome::Blocked,
            false,
            None,
        );
    }

    #[test]
    fn a_blocker_that_did_not_end_the_work_is_looked_up_as_well() {
        let report = Report {
            observations: vec![Observation {
                description: Some("FOO_TOKEN is not set".to_owned()),
                ..Observation::bare(ObservationKind::Blocker, "no token")
            }],
            ..Report::with_outcome(Outcome::Completed)
        };
        check(report, Outcome::Completed, true, Some(false));
        let mut report = Report::with_outcome(Outcome::Completed);
        let scene = Scene::new();
        fail_refuted_blocker(&mut report, &scene.place());
        assert_eq!(report.context, None);
    }

    #[test]
    fn a_file_that_something_is_missing_in_is_not_missing() {
        let why = "there is no users table in config/keys.json, and I may not add one";
        let report = check(blocked(why), Outcome::Blocked, false, None);
        assert_eq!(report.error.as_deref(), Some(why));
    }

    #[test]
    fn what_was_noticed_on_the_way_says_nothing_of_the_blocker() {
        let noticed = |title: &str| Observation::bare(ObservationKind::Blocker, title);
        let report = Report {
            observations: vec![noticed("FOO_TOKEN is not set")],
            ..blocked("which of the two?")
        };
        check(report, Outcome::Blocked, false, None);
        let report = Report {
            observations: vec![noticed("NO_TOKEN is not set")],
            ..blocked("FOO_TOKEN is not set")
        };
        check(report, Outcome::Failed, true, Some(false));
        let report = Report {
            observations: vec![noticed("FOO_TOKEN is not set")],
            ..Report::with_outcome(Outcome::Blocked)
        };
        check(report, Outcome::Blocked, true, Some(false));
    }

    #[test]
    fn what_was_said_of_a_blocker_is_not_written_over() {
        let mut report = blocked("FOO_TOKEN is not set");
        report.context.get_or_insert_default().blocker_verified = Some(false);
        let scene = Scene::new();
        record_blocker_check(&mut report, &scene.place());
        let context = report.context.unwrap_or_default();
        assert_eq!(
            (context.blocker_verified, context.blocker_valid),
            (Some(false), None)
        );
    }
}
