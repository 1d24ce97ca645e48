//! Today's practice as a program: `seed000 FOLDER NUMBER` appends the entry of
//! that number to the `progress.json` of a folder.

use std::path::PathBuf;

use piton_bench::seed000;

fn main() -> piton_bench::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, number] = arguments.as_slice() else {
        return Err("usage: seed000 FOLDER NUMBER".into());
    };
    seed000::append_entry(&PathBuf::from(folder), seed000::entry(number.parse()?))
}
