//! Families: different ways to say one thing, as a table.
//!
//! `EADDRINUSE` and "port is already allocated" share no word. The table holds
//! what anybody knows who has met both; nothing in it is of one project.

use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

use super::piece::{PieceKind, TokenPiece, split_pieces};

/// A way to say it, word by word, and the families that it belongs to.
type FamilyPhrase = (Vec<String>, Vec<&'static str>);

/// The ways by their first word, the longest first.
fn phrases_by_first_word() -> &'static HashMap<String, Vec<FamilyPhrase>> {
    static WAYS: OnceLock<HashMap<String, Vec<FamilyPhrase>>> = OnceLock::new();
    WAYS.get_or_init(|| parse_family_table(include_str!("families.txt")))
}

fn parse_family_table(table: &'static str) -> HashMap<String, Vec<FamilyPhrase>> {
    let mut ways: HashMap<String, Vec<FamilyPhrase>> = HashMap::new();
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    for (name, members) in lines.filter_map(|line| line.split_once(": ")) {
        for member in members.split(" | ") {
            let pieces = split_pieces(member);
            let words = compared_words(member, &pieces);
            let Some(first) = words.first() else { continue };
            let beginning = ways.entry((*first).to_owned()).or_default();
            let words: Vec<String> = words.into_iter().map(ToOwned::to_owned).collect();
            match beginning.iter_mut().find(|(known, _)| *known == words) {
                Some((_, names)) => names.push(name),
                None => beginning.push((words, vec![name])),
            }
        }
    }
    ways
}

/// What is compared: words and numbers in their order. A way without blanks is
/// a name, and compared as a whole: `ts2307` is not any `ts`.
fn compared_words<'a>(way: &str, pieces: &'a [TokenPiece]) -> Vec<&'a str> {
    let whole = pieces.iter().find(|piece| piece.part == PieceKind::Whole);
    if let Some(whole) = whole.filter(|_| !way.contains(' ')) {
        return vec![whole.text.as_str()];
    }
    let words = pieces.iter().filter(|piece| piece.part != PieceKind::Whole);
    words.map(|piece| piece.text.as_str()).collect()
}

/// The families that a line belongs to, by name, each once.
pub(super) fn families_of_pieces(pieces: &[TokenPiece]) -> impl Iterator<Item = &'static str> {
    let mut found: BTreeSet<&'static str> = BTreeSet::new();
    let words: Vec<&TokenPiece> = pieces
        .iter()
        .filter(|piece| piece.part != PieceKind::Whole)
        .collect();
    for (at, piece) in words.iter().enumerate() {
        for (way, names) in phrases_by_first_word()
            .get(&piece.text)
            .into_iter()
            .flatten()
        {
            let fits = way.len() <= words.len() - at
                && way
                    .iter()
                    .zip(&words[at..])
                    .all(|(word, piece)| *word == piece.text);
            if fits {
                found.extend(names);
            }
        }
    }
    for piece in pieces.iter().filter(|piece| piece.part == PieceKind::Whole) {
        for (way, names) in phrases_by_first_word()
            .get(&piece.text)
            .into_iter()
            .flatten()
        {
            if way.len() == 1 {
                found.extend(names);
            }
        }
    }
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_the_table_is_not_its_parts() {
        let families = |line: &str| families_of_pieces(&split_pieces(line)).collect::<Vec<_>>();
        assert_eq!(families("src/cart.spec.ts"), [] as [&str; 0]);
        assert_eq!(families("error TS2307"), ["no-import"]);
        assert_eq!(families("error[E0382]"), ["moved"]);
    }

    #[test]
    fn the_table_is_whole() {
        let lines = include_str!("families.txt").lines();
        let mut names = BTreeSet::new();
        for line in lines.filter(|line| !line.starts_with('#')) {
            let (name, members) = line.split_once(": ").expect("a name, a colon, the ways");
            assert!(names.insert(name), "{name} stands there twice");
            let members: Vec<&str> = members.split(" | ").collect();
            assert!(members.len() >= 2, "{name}: one way is no family");
            for member in members {
                assert!(
                    !split_pieces(member).is_empty(),
                    "{name}: `{member}` says nothing"
                );
            }
        }
    }
}
