//! Works through a plan with a shell command as the agent.
//!
//! `cargo run -p piton-engine --example run_plan`

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;
use std::fs;

use piton_engine::config::VerdictSource;
use piton_engine::config::trust::TrustRequest;
use piton_engine::verbs::run::{self, RunAnswer, RunRequest};
use piton_engine::world::World;
use piton_engine::{CommandExit, Notice};

const PLAN: &str = "# Two files\n\n- [ ] there is a file a.txt\n- [ ] there is a file b.txt\n";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("RALPH_TASK.md"), PLAN)?;
    let mut world = World::from_environment()?;
    world.cwd = folder.path().to_owned();

    let request = RunRequest {
        plan: Some("RALPH_TASK.md".to_owned()),
        agent: Some("touch a.txt b.txt".to_owned()),
        verdict: Some(VerdictSource::ExitStatus),
        // The plan has no command of its own; one that has would be trusted by this.
        trust: TrustRequest::Given,
        ..RunRequest::default()
    };
    let answer = run::run(&world, &request, &mut |notice| {
        if let Notice::Event(recorded, _) = notice {
            println!("{}", recorded.event.kind());
        }
    })?;
    match answer {
        RunAnswer::Ran(ended) | RunAnswer::Finished(ended) => {
            println!("run `{}` is {}", ended.row.name, ended.row.state);
            assert_eq!(ended.exit_code(), CommandExit::Done);
        }
        RunAnswer::Dry(dry) => println!("{} items would be done", dry.items.len()),
    }
    Ok(())
}
