//! Words without their endings, so that `migrations` meets `migrate`.
//!
//! The algorithm of M. F. Porter, "An algorithm for suffix stripping" (1980),
//! in its steps. A step is a table of endings; what is written here is only how
//! a table is used.

/// An ending, and what takes its place.
type SuffixRule = (&'static str, &'static str);

const STEP_2: &[SuffixRule] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
];

const STEP_3: &[SuffixRule] = &[
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

/// The longer of two that fit comes first.
const STEP_4: &[&str] = &[
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti",
    "ous", "ive", "ize", "al", "er", "ic", "ou",
];

/// The stem of a word in lower case. A word that is not of ASCII letters is its own.
pub(super) fn stem(word: &str) -> String {
    if word.len() <= 2 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut word = word.to_owned();
    strip_plural(&mut word);
    strip_ed_or_ing(&mut word);
    if word.ends_with('y') && has_vowel(&word[..word.len() - 1]) {
        word.replace_range(word.len() - 1.., "i");
    }
    replace_suffix(&mut word, STEP_2);
    replace_suffix(&mut word, STEP_3);
    strip_step_4_suffix(&mut word);
    strip_final_letters(&mut word);
    word
}

fn strip_plural(word: &mut String) {
    if word.ends_with("sses") || word.ends_with("ies") {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
}

fn strip_ed_or_ing(word: &mut String) {
    if let Some(rest) = word.strip_suffix("eed") {
        if measure(rest) > 0 {
            word.pop();
        }
        return;
    }
    let rest = ["ed", "ing"].iter().find_map(|ending| {
        let rest = word.strip_suffix(ending)?;
        has_vowel(rest).then_some(rest.len())
    });
    let Some(rest) = rest else { return };
    word.truncate(rest);
    if ["at", "bl", "iz"].iter().any(|end| word.ends_with(end)) {
        word.push('e');
    } else if has_double_end(word) && !word.ends_with(['l', 's', 'z']) {
        word.pop();
    } else if measure(word) == 1 && has_short_end(word) {
        word.push('e');
    }
}

fn replace_suffix(word: &mut String, endings: &[SuffixRule]) {
    let fits = endings.iter().find(|(ending, _)| word.ends_with(ending));
    let Some((ending, other)) = fits else { return };
    let rest = word.len() - ending.len();
    if measure(&word[..rest]) > 0 {
        word.replace_range(rest.., other);
    }
}

fn strip_step_4_suffix(word: &mut String) {
    let Some(ending) = STEP_4.iter().find(|ending| word.ends_with(*ending)) else {
        return;
    };
    let rest = &word[..word.len() - ending.len()];
    let fits = *ending != "ion" || rest.ends_with(['s', 't']);
    if measure(rest) > 1 && fits {
        word.truncate(rest.len());
    }
}

fn strip_final_letters(word: &mut String) {
    if let Some(rest) = word.strip_suffix('e') {
        let measure = measure(rest);
        if measure > 1 || (measure == 1 && !has_short_end(rest)) {
            word.pop();
        }
    }
    if word.ends_with("ll") && measure(&word[..word.len() - 1]) > 1 {
        word.pop();
    }
}

/// Whether each letter is a consonant: a `y` is one where none stands before it.
fn consonant_flags(word: &str) -> impl Iterator<Item = bool> {
    word.bytes().scan(false, |before, byte| {
        *before = match byte {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => !*before,
            _ => true,
        };
        Some(*before)
    })
}

/// How often a consonant follows a vowel: Porter's m.
fn measure(word: &str) -> usize {
    let mut times = 0;
    let mut after_vowel = false;
    for consonant in consonant_flags(word) {
        times += usize::from(consonant && after_vowel);
        after_vowel = !consonant;
    }
    times
}

fn has_vowel(word: &str) -> bool {
    consonant_flags(word).any(|consonant| !consonant)
}

fn has_double_end(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 2
        && bytes[bytes.len() - 1] == bytes[bytes.len() - 2]
        && consonant_flags(word).last() == Some(true)
}

/// Consonant, vowel, consonant, the last not one of `w`, `x`, `y`.
fn has_short_end(word: &str) -> bool {
    let kinds: Vec<bool> = consonant_flags(word).collect();
    kinds.ends_with(&[true, false, true]) && !word.ends_with(['w', 'x', 'y'])
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[track_caller]
    fn check(words: &[&str], expected: &str) {
        for word in words {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn forms_of_one_word_meet() {
        check(
            &["migrate", "migrates", "migrated", "migrating", "migration"],
            "migrat",
        );
        check(&["resolve", "resolved", "resolving", "resolves"], "resolv");
        check(&["dependency", "dependencies"], "depend");
        check(
            &["connect", "connected", "connection", "connections"],
            "connect",
        );
        check(&["hop", "hopping", "hopped"], "hop");
    }

    #[test]
    fn the_examples_of_the_paper_hold() {
        check(&["caresses"], "caress");
        check(&["ponies"], "poni");
        check(&["agreed"], "agre");
        check(&["plastered"], "plaster");
        check(&["motoring"], "motor");
        check(&["sing"], "sing");
        check(&["relational"], "relat");
        check(&["vietnamization"], "vietnam");
        check(&["electricity", "electrical"], "electr");
        check(&["adjustable", "adjustment"], "adjust");
        check(&["controll"], "control");
    }

    #[test]
    fn what_is_no_word_stays() {
        check(&["id"], "id");
        check(&["größe"], "größe");
    }
}
