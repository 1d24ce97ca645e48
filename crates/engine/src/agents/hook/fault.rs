//! Where faults of a hook go: they must not disturb the session of the agent.

use std::fs::{self, File};
use std::io::Write as _;

use piton_core::terminal::clean_line;

use crate::project::Project;
use crate::project::inside::{create_own_folder, open_own_file};
use crate::world::World;

/// A longer log begins anew; the one before is kept.
const BYTES_MAX: u64 = 256 << 10;

/// Notes a fault in `logs/hook.log` of the home, where there is one. A failure to
/// write it is ignored.
pub fn log_fault(world: &World, event: &str, fault: &str) {
    let project = Project::find(world, &world.cwd);
    let home = &project.home;
    if !home.is_dir() || project.resolve_inside(&home.join("logs")).is_err() {
        return;
    }
    let folder = home.join("logs");
    let path = folder.join("hook.log");
    create_own_folder(&folder).ok();
    if fs::metadata(&path).is_ok_and(|found| found.len() > BYTES_MAX) {
        fs::rename(&path, folder.join("hook.log.old")).ok();
    }
    let line = format!("{event}: {fault}");
    let line = world.redactor().redact(&line).into_owned();
    let line: String = clean_line(&line).chars().take(2_000).collect();
    let line = format!("{} {line}\n", world.now());
    // One write, so that lines of several processes do not mingle.
    let file = open_own_file(&path, File::options().append(true).create(true));
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .ok();
}
