//! What of a native file is taken, and what is not.

use piton_engine::verbs::files::{Adoption, AdoptionCount};

use crate::output::{CliOutput, YELLOW};

/// What happens to a file of an older layout.
pub(crate) const TAKEN_OVER: &str = "taken over by `piton files migrate`";

/// Says what of a file is taken, and names the first things that are not.
pub(crate) fn show_adoption(file: &str, adoption: &Adoption, output: &mut CliOutput) {
    let counts = &adoption.counts;
    if counts.is_empty() {
        return;
    }
    let taken: Vec<String> = counts.iter().map(describe_import_count).collect();
    output.print_note(&format!("{file}: took {}", taken.join(", ")));
    for count in adoption.incomplete_counts() {
        for left in &count.first {
            let nearest = left.nearest;
            let nearest = nearest.map(|nearest| format!(", perhaps meant as `{nearest}`"));
            output.print_note(&format!(
                "  {YELLOW}not taken{YELLOW:#}: line {}: {}{}",
                left.line,
                left.text,
                nearest.unwrap_or_default()
            ));
        }
        let more = count.left - count.first.len();
        if more > 0 {
            let more = format!("and {more} more {}", count.what.noun(more));
            output.print_note(&format!("  {YELLOW}not taken{YELLOW:#}: {more}"));
        }
        if let Some(hint) = count.hint {
            output.print_note(&format!("  {hint}"));
        }
    }
}

/// `3 rules`, or `0 of 41 ticked boxes` where not all were taken.
pub(crate) fn describe_import_count(count: &AdoptionCount) -> String {
    let all = count.taken + count.left;
    let words = count.what.noun(all);
    match count.left {
        0 => format!("{all} {words}"),
        _ => format!("{} of {all} {words}", count.taken),
    }
}
