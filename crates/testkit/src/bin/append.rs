//! Appends events to a store: `append DIR EVENTS LABEL`. See `piton_testkit::append`.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use piton_testkit::append::{Append, append};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, events, label] = arguments.as_slice() else {
        return Err("usage: append DIR EVENTS LABEL".into());
    };
    let what = Append {
        dir: PathBuf::from(dir),
        events: events.parse()?,
        label: label.clone(),
    };
    append(&what, &mut io::stdout().lock())?;
    Ok(())
}
