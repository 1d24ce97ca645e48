//! Looks up whether what a blocker says is missing is missing.
//!
//! What a text claims is found by `piton_core::claim`. Here somebody looks: into
//! the environment that agents get, the work tree, `PATH`, and the ports of this
//! machine. No file is opened. A port is connected to, and nothing is sent to it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use piton_core::Outcome;
use piton_core::attempt::Report;
use piton_core::claim::{self, Claim, Verdict};
use piton_core::classify::Category;
use piton_core::observation::ObservationKind;

/// How long a port of this machine has for an answer.
const PORT_TIMEOUT: Duration = Duration::from_millis(300);

/// Where agents work.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The environment that they get.
    pub env: &'a BTreeMap<String, String>,
    /// The folder that they work in.
    pub work_tree: &'a Path,
}

/// What looking for one thing showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// What was said to be missing.
    pub claim: Claim,
    /// What was seen of it; none where it is missing.
    pub seen: Option<String>,
}

/// Looks for each thing that is said to be missing.
#[must_use]
pub fn look(claims: Vec<Claim>, place: &Place<'_>) -> Vec<Looked> {
    let look = |claim: Claim| Looked {
        seen: seen(&claim, place),
        claim,
    };
    claims.into_iter().map(look).collect()
}

/// What comes of all that was looked for.
#[must_use]
pub fn verdict(looked: &[Looked]) -> Verdict {
    let missing: Vec<bool> = looked.iter().map(|one| one.seen.is_none()).collect();
    claim::verdict(&missing)
}

/// Looks a report's blocker up and says in its context what came of it, unless
/// that was said already. None where there is no blocker.
pub fn note(report: &mut Report, place: &Place<'_>) -> Option<Vec<Looked>> {
    let text = blocker(report)?;
    let looked = look(claim::missing(&text), place);
    let Verdict { verified, valid } = verdict(&looked);
    let context = report.context.get_or_insert_default();
    if context.blocker_verified.is_none() && context.blocker_valid.is_none() {
        context.blocker_verified = Some(verified);
        context.blocker_valid = valid;
    }
    Some(looked)
}

/// The same for an agent's own report: to be blocked by nothing but what is not
/// missing is a failure like any other. It is tried again, or asked about.
pub fn settle(report: &mut Report, place: &Place<'_>) {
    let Some(looked) = note(report, place) else {
        return;
    };
    // What it noticed on the way is not what it says that it is blocked by.
    if own_words(report).is_none() || verdict(&looked).valid != Some(false) {
        return;
    }
    let mut error = contradiction(&looked);
    if let Some(said) = report.error.as_ref().or(report.summary.as_ref()) {
        // Writing to a text cannot fail.
        write!(error, "\n{said}").ok();
    }
    report.outcome = Outcome::Failed;
    report.category = Some(Category::Logic);
    report.error = Some(error);
}

/// What a blocked report says of why it is.
fn own_words(report: &Report) -> Option<&String> {
    let said = report.error.as_ref().or(report.summary.as_ref());
    said.filter(|_| report.outcome == Outcome::Blocked)
}

/// The words in which a report tells of a blocker: its own, or else those of the
/// blockers that were noticed. None where it tells of none.
fn blocker(report: &Report) -> Option<String> {
    if let Some(said) = own_words(report) {
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
fn contradiction(looked: &[Looked]) -> String {
    let names: Vec<String> = looked.iter().map(|one| name(&one.claim)).collect();
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

fn name(claim: &Claim) -> String {
    match claim {
        Claim::Variable(name) | Claim::File(name) | Claim::Command(name) => format!("`{name}`"),
        Claim::Port(port) => format!("port {port}"),
    }
}

/// What there is of it; none where it is missing.
fn seen(claim: &Claim, place: &Place<'_>) -> Option<String> {
    match claim {
        // An empty one is as good as none.
        Claim::Variable(name) => {
            place.env.get(name).filter(|value| !value.is_empty())?;
            Some(format!("the variable `{name}` is set"))
        }
        Claim::File(name) => {
            let path = file(name, place)?;
            Some(format!("there is {}", path.display()))
        }
        Claim::Command(name) => {
            let path = command(name, place)?;
            Some(format!("`{name}` is {}", path.display()))
        }
        Claim::Port(port) => {
            let address = listening(*port)?;
            Some(format!("something listens at {address}"))
        }
    }
}

fn file(name: &str, place: &Place<'_>) -> Option<PathBuf> {
    let path = match (name.strip_prefix("~/"), place.env.get("HOME")) {
        (Some(rest), Some(home)) => Path::new(home).join(rest),
        _ => place.work_tree.join(name),
    };
    path.exists().then_some(path)
}

/// The program of that name that a shell in the work tree would start.
fn command(name: &str, place: &Place<'_>) -> Option<PathBuf> {
    let path = place.env.get("PATH")?;
    std::env::split_paths(path)
        .map(|folder| place.work_tree.join(folder).join(name))
        .find(|program| {
            program.is_file() && rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok()
        })
}

fn listening(port: u16) -> Option<SocketAddr> {
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

        fn place(&self) -> Place<'_> {
            Place {
                env: &self.env,
                work_tree: self.folder.path(),
            }
        }

        /// Whether a thing is there.
        #[track_caller]
        fn check(&self, claim: &Claim, expect: bool) {
            assert_eq!(seen(claim, &self.place()).is_some(), expect, "{claim:?}");
        }
    }

    fn blocked(error: &str) -> Report {
        Report {
            error: Some(error.to_owned()),
            ..Report::bare(Outcome::Blocked)
        }
    }

    #[test]
    fn things_are_looked_for_where_agents_would_find_them() {
        let scene = Scene::new();
        let variable = |name: &str| Claim::Variable(name.to_owned());
        let file = |name: &str| Claim::File(name.to_owned());
        let command = |name: &str| Claim::Command(name.to_owned());
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
        scene.check(&Claim::Port(port), true);
        drop(listener);
        scene.check(&Claim::Port(port), false);
        // Where there is no IPv6 there is nothing to look at.
        if let Ok(listener) = TcpListener::bind("[::1]:0") {
            let port = listener.local_addr().expect("it has one").port();
            scene.check(&Claim::Port(port), true);
        }
    }

    /// The outcome of a report, and what its context says of its blocker.
    #[track_caller]
    fn check(report: Report, outcome: Outcome, verified: bool, valid: Option<bool>) -> Report {
        let scene = Scene::new();
        let mut report = report;
        settle(&mut report, &scene.place());
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
        assert_eq!(report.category, Some(Category::Logic));
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
            Report::bare(Outcome::Blocked),
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
            ..Report::bare(Outcome::Completed)
        };
        check(report, Outcome::Completed, true, Some(false));
        let mut report = Report::bare(Outcome::Completed);
        let scene = Scene::new();
        settle(&mut report, &scene.place());
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
            ..Report::bare(Outcome::Blocked)
        };
        check(report, Outcome::Blocked, true, Some(false));
    }

    #[test]
    fn what_was_said_of_a_blocker_is_not_written_over() {
        let mut report = blocked("FOO_TOKEN is not set");
        report.context.get_or_insert_default().blocker_verified = Some(false);
        let scene = Scene::new();
        note(&mut report, &scene.place());
        let context = report.context.unwrap_or_default();
        assert_eq!(
            (context.blocker_verified, context.blocker_valid),
            (Some(false), None)
        );
    }
}
