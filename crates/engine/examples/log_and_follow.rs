//! Opens the store of a project, stores an event by a command, reads rows, and follows
//! a stream of the journal.
//!
//! `cargo run -p piton-engine --example log_and_follow`

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;

use piton_engine::model::entry::{Entry, EntryType};
use piton_engine::model::{Command, Need, StreamId};
use piton_engine::project::Project;
use piton_engine::session::Session;
use piton_engine::world::World;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut world = World::from_environment()?;
    world.cwd = folder.path().to_owned();

    // Open: the store is made where there is none.
    let project = Project::find(&world, &world.cwd);
    let session = Session::open_or_create(&world, project, &mut |text| println!("{text}"))?;

    // Commit: when this returns, the event is on the disk.
    let entry = Entry::with_type(EntryType::MilestoneReached)
        .with_text("description", "the parser reads all samples");
    let outcome = session.execute_command(&Command::LogEntry(Box::new(entry)))?;
    println!("stored {} event(s)", outcome.events.len());

    // Read: rows that the events were folded into.
    let rows = session.load(&[Need::RecentEntries(10)])?;
    for row in rows.tables.entries() {
        println!("{} {}", row.timestamp, row.entry.kind.as_str());
    }

    // Follow: what was stored behind a position.
    let seen = 0;
    for record in session
        .store
        .read_stream(&StreamId::sessions(), seen, 100)?
    {
        println!(
            "{} {}",
            record.stamp.position,
            record.decode_event()?.kind()
        );
    }
    Ok(())
}
