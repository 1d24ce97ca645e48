//! `--debug-log FILE`: what piton does, step by step, for a person who looks for a fault.
//!
//! The journal says what happened and a transcript what an agent said; this
//! says how piton came to it. Without the flag nothing is written and nothing
//! is spent on it.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use jiff::Timestamp;
use piton_engine::model::redact::Redactor;
use piton_engine::{Failure, World};
use tracing::Level;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

/// How much is written: `error`, `warn`, `info`, `debug`, `trace`.
const LEVEL: &str = "PITON_LOG";

/// Sends what piton does to the end of a file from now on.
///
/// # Errors
///
/// When the file cannot be written, or the level is none.
pub(crate) fn log_to_file(world: &World, path: &Path) -> Result<(), Failure> {
    let level: Level = match world.var(LEVEL) {
        Some(word) => word.parse().map_err(|_| {
            Failure::new("usage", format!("{LEVEL} is `{word}`, which is no level"))
                .with_hint("use one of error, warn, info, debug, trace")
        })?,
        None => Level::DEBUG,
    };
    let path = world.resolve_path(path);
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&path)
        .map_err(|error| {
            let what = format!("the log {} cannot be written", path.display());
            Failure::new("file.unwritable", what)
                .with_source(error)
                .with_hint("name a file in a folder that can be written: `--log FILE`")
        })?;
    let to = RedactedFile {
        file,
        redactor: world.redactor(),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .with_timer(Utc)
        .with_writer(to)
        .finish();
    // There is one for each process, and none was set before.
    tracing::subscriber::set_global_default(subscriber).ok();
    let typed: Vec<String> = std::env::args().collect();
    tracing::info!(version = env!("CARGO_PKG_VERSION"), ?typed, "piton begins");
    Ok(())
}

/// The time of a line, in UTC.
struct Utc;

impl FormatTime for Utc {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        #[expect(clippy::disallowed_methods, reason = "a log says what the clock says")]
        let now = Timestamp::now();
        write!(writer, "{now:.6}")
    }
}

/// A file that no secret is written to.
struct RedactedFile {
    file: File,
    redactor: Redactor,
}

impl<'a> MakeWriter<'a> for RedactedFile {
    type Writer = RedactedWriter<'a>;

    fn make_writer(&'a self) -> RedactedWriter<'a> {
        RedactedWriter(self)
    }
}

/// What is to be written: one event at a time.
struct RedactedWriter<'a>(&'a RedactedFile);

impl Write for RedactedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let redacted = self.0.redactor.redact(&text);
        (&self.0.file).write_all(redacted.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
