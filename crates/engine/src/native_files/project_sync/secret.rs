//! Secrets in a file that another writer changed: the journal has them redacted,
//! the file keeps what its writer put there.

use std::collections::{BTreeMap, VecDeque};

/// A text that was made of `redacted`, with the lines of `written` that
/// redacting changed as they were. Where redacting joined lines, nothing can be
/// told apart, and the text stays as it is.
pub(super) fn restore_secrets(text: &str, written: &str, redacted: &str) -> String {
    let lines = || {
        written
            .split_inclusive('\n')
            .zip(redacted.split_inclusive('\n'))
    };
    let as_many = written.split_inclusive('\n').count() == redacted.split_inclusive('\n').count();
    if !as_many {
        return text.to_owned();
    }
    let mut changed: BTreeMap<&str, VecDeque<&str>> = BTreeMap::new();
    for (was, is) in lines().filter(|(was, is)| was != is) {
        changed.entry(is).or_default().push_back(was);
    }
    text.split_inclusive('\n')
        .map(|line| {
            let was = changed.get_mut(line).and_then(VecDeque::pop_front);
            was.unwrap_or(line)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_redacting_changed_is_as_its_writer_left_it() {
        let written = "# a\nkey hunter2\nkey hunter3\n";
        let redacted = "# a\nkey [redacted]\nkey [redacted]\n";
        let shown = "# b\nkey [redacted]\nnew\nkey [redacted]\nkey [redacted]\n";
        assert_eq!(
            restore_secrets(shown, written, redacted),
            "# b\nkey hunter2\nnew\nkey hunter3\nkey [redacted]\n"
        );
    }

    #[test]
    fn lines_that_were_joined_are_left_redacted() {
        assert_eq!(
            restore_secrets("[redacted]\nx\n", "a\nb\n", "[redacted]\n"),
            "[redacted]\nx\n"
        );
    }
}
