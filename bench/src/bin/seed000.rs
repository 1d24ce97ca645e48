//! Today's practice as a program: `seed000 FOLDER NUMBER [flush]` appends the
//! entry of that number to the `progress.json` of a folder.

use std::path::PathBuf;

use piton_bench::seed000::{self, Durable};

fn main() -> piton_bench::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, number, durable) = match arguments.as_slice() {
        [folder, number] => (folder, number, Durable::No),
        [folder, number, word] if word == "flush" => (folder, number, Durable::Yes),
        _ => return Err("usage: seed000 FOLDER NUMBER [flush]".into()),
    };
    let entry = seed000::entry(number.parse()?);
    seed000::append_entry(&PathBuf::from(folder), entry, durable)
}
