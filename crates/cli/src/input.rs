//! Text that a command reads: a file, or stdin.

use std::path::Path;

use piton_engine::{Failure, World};

/// What a file says, and what it is called; `-` is stdin.
pub(crate) fn read_text(world: &World, file: &Path) -> Result<(String, String), Failure> {
    let (name, read) = if file == Path::new("-") {
        ("stdin".to_owned(), read_stdin())
    } else {
        (
            file.display().to_string(),
            read_file(&world.resolve_path(file)),
        )
    };
    let bytes =
        read.map_err(|error| piton_engine::failure::unreadable_file(Path::new(&name), error))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok((name, text)),
        Err(_) => {
            Err(Failure::new("usage", format!("{name} is no UTF-8 text"))
                .with_hint("give it as UTF-8"))
        }
    }
}

/// What a tool printed, which need not be text.
pub(crate) fn read_tool_output(world: &World, file: &Path) -> Result<String, Failure> {
    let read = if file == Path::new("-") {
        read_stdin()
    } else {
        read_file(&world.resolve_path(file))
    };
    let bytes = read.map_err(|error| piton_engine::failure::unreadable_file(file, error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The content of stdin; an error where it is longer than [`STDIN_MAX`].
fn read_stdin() -> std::io::Result<Vec<u8>> {
    read_bounded(std::io::stdin().lock())
}

/// The content of a file, with the same bound: a device need not end.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    read_bounded(std::fs::File::open(path)?)
}

fn read_bounded(from: impl std::io::Read) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    from.take(STDIN_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > STDIN_MAX {
        return Err(std::io::Error::other("it has more than 64 MB"));
    }
    Ok(bytes)
}

/// No report of an attempt is longer than that.
const STDIN_MAX: u64 = 64 << 20;
