//! What ways of saving lose: several writers at once, kills, and power cuts.
//!
//! Every way stores the same records, one at a time, each acknowledged when it was
//! stored. The first trial kills writers and starts them again; the second records
//! one writer with strace and cuts the power at moments of chance, see
//! [`piton_simkit::recorded_disk`]. Whatever was acknowledged has to be there.

pub mod trial;
pub mod way;

use jiff::Zoned;

use crate::Result;
use crate::bed::{Bed, Size};

use self::trial::{Count, Cuts, Kills};
use self::way::Way;

/// The first argument of a run.
pub const WORD: &str = "plug";

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Amounts {
    /// Writers at once.
    pub writers: usize,
    /// Records of all of them together.
    pub records: usize,
    /// After so many records one writer is killed.
    pub records_a_kill: usize,
    /// Records of the one writer whose power is cut.
    pub cut_records: usize,
    /// Cuts.
    pub cuts: usize,
}

impl Amounts {
    /// Those of a size, and of a way: a record of one that starts slowly takes a second.
    #[must_use]
    pub fn of(size: Size, way: &Way) -> Self {
        let all = Self {
            writers: 8,
            records: size.pick(80, 1000),
            records_a_kill: size.pick(10, 20),
            cut_records: size.pick(20, 200),
            cuts: size.pick(10, 100),
        };
        if way.starts_slowly {
            return Self {
                records: all.records / 8,
                records_a_kill: all.records_a_kill / 4,
                cut_records: all.cut_records / 8,
                ..all
            };
        }
        all
    }
}

/// Tries every way, and prints a table in Markdown.
///
/// # Errors
///
/// When a program cannot be started, or piton lost something.
pub fn compare(bed: &Bed) -> Result<String> {
    let mut text = format!(
        "{}, {}\n\n\
         | way | 8 writers, killed: acknowledged | kept | readable | power cuts: acknowledged | kept | unreadable after |\n\
         |---|---|---|---|---|---|---|\n",
        Zoned::now().date(),
        bed.size.word(),
    );
    let mut lost = 0;
    for way in way::ALL {
        if !way.is_there(bed) {
            crate::tell(&format!("skipped: {} is not on the PATH", way.name))?;
            continue;
        }
        crate::tell(&format!("trying {} ...", way.name))?;
        let amounts = Amounts::of(bed.size, way);
        let kills = trial::kill_writers(bed, way, amounts)?;
        let cuts = trial::cut_power(bed, way, amounts)?;
        if way.key == way::PITON {
            lost = kills.count.lost() + cuts.as_ref().map_or(0, |cuts| cuts.count.lost());
        }
        text.push_str(&row(way, &kills, cuts.as_ref()));
    }
    if lost > 0 {
        return Err(format!("piton lost {lost} acknowledged records\n\n{text}").into());
    }
    Ok(text)
}

fn row(way: &Way, kills: &Kills, cuts: Option<&Cuts>) -> String {
    let Count { acknowledged, kept } = kills.count;
    let readable = if kills.readable { "yes" } else { "**no**" };
    let after_cuts = match cuts {
        Some(cuts) => format!(
            "{} | {} | {} of {}",
            cuts.count.acknowledged, cuts.count.kept, cuts.unreadable, cuts.cuts
        ),
        None => "not recorded | | ".to_owned(),
    };
    format!(
        "| {} | {acknowledged} ({} kills) | {kept} | {readable} | {after_cuts} |\n",
        way.name, kills.kills
    )
}
