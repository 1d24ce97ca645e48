//! Texts for a terminal, whatever they are.

use piton_core::terminal::{bound_lines, clean_line, clean_text, strip_sequences};
use piton_simkit::seed::cases;
use proptest::prelude::*;

/// Texts as attackers make them: of what begins and ends sequences, of what is not seen,
/// and of anything else.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        any::<String>(),
        "[\u{1b}\u{80}-\u{9f}\\[\\]\\\\PX^_();0-9mJHc\u{7}\u{18}\r\n\t é]{0,12}",
        "[\u{200b}-\u{200f}\u{202a}-\u{202e}\u{fe0f}\u{e0020}-\u{e007f}❤👩a\u{645}]{0,8}",
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn a_clean_text_holds_no_control_and_is_clean_already(text in text()) {
        let clean = clean_text(&text);
        let is_order = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        prop_assert!(!clean.contains(is_order), "{clean:?}");
        let is_turned = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{e0000}'..='\u{e007f}');
        prop_assert!(!clean.contains(is_turned), "{clean:?}");
        prop_assert_eq!(clean_text(&clean), &clean[..]);
        prop_assert!(!clean_line(&text).contains(['\n', '\t']));
    }

    #[test]
    fn no_sequence_takes_a_line_break_with_it(text in text()) {
        let breaks = |text: &str| text.matches('\n').count();
        prop_assert_eq!(breaks(&clean_text(&text)), breaks(&text));
        prop_assert_eq!(breaks(&strip_sequences(&text)), breaks(&text));
    }

    #[test]
    fn letters_and_signs_stay_as_they_are(
        text in "[ -~\n\t¡-¬®-\u{2ff}\u{370}-\u{3ff}\u{400}-\u{52f}א-ת\u{620}-\u{64a}一-龥가-힣]{0,60}"
    ) {
        prop_assert_eq!(clean_text(&text), &text[..]);
    }

    #[test]
    fn no_line_is_longer_than_its_bound(text in text(), most in 1..20usize) {
        let bounded = bound_lines(&text, most);
        let more = "… (99999 characters left out)".chars().count();
        prop_assert!(bounded.split('\n').all(|line| line.chars().count() <= most + more));
        prop_assert_eq!(bounded.split('\n').count(), text.split('\n').count());
    }
}
