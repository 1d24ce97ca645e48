//! What an agent says to its loop: `<ralph>COMPLETE</ralph>`.

/// A word to the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RalphTagSignal {
    /// Every criterion is met.
    Complete,
    /// Something stands in the way that the agent cannot move.
    Blocked,
    /// The agent is stuck.
    Gutter,
    /// It needs a browser and has none.
    BrowserNeeded,
}

impl RalphTagSignal {
    /// The word between the tags.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "COMPLETE",
            Self::Blocked => "BLOCKED",
            Self::Gutter => "GUTTER",
            Self::BrowserNeeded => "BROWSER_NEEDED",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [
            Self::Complete,
            Self::Blocked,
            Self::Gutter,
            Self::BrowserNeeded,
        ]
        .into_iter()
        .find(|signal| signal.as_str() == word)
    }
}

/// Every signal in what an agent said, in its order. Other words between the
/// tags are none.
pub(crate) fn parse_tag_signals(text: &str) -> Vec<RalphTagSignal> {
    text.split("<ralph>")
        .skip(1)
        .filter_map(|rest| {
            // A word that long is none, and looking for its end costs.
            let end = rest.char_indices().nth(32).map_or(rest.len(), |(at, _)| at);
            let (word, _) = rest[..end].split_once("</ralph>")?;
            RalphTagSignal::parse(word.trim())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_words_are_signals_and_others_are_not() {
        let said = "a <ralph>COMPLETE</ralph> b <ralph> BLOCKED </ralph><ralph>GUTTER</ralph>\
             <ralph>BROWSER_NEEDED</ralph> <ralph>DONE</ralph> <ralph>COMPLETE <ralph>complete</ralph>";
        assert_eq!(
            parse_tag_signals(said),
            [
                RalphTagSignal::Complete,
                RalphTagSignal::Blocked,
                RalphTagSignal::Gutter,
                RalphTagSignal::BrowserNeeded
            ]
        );
        assert_eq!(parse_tag_signals("COMPLETE"), []);
    }

    proptest::proptest! {
        #![proptest_config(piton_simkit::seed::cases(256))]

        #[test]
        fn signals_are_found_in_any_text(text in "(<ralph>|</ralph>|COMPLETE|GUTTER|x| |é|\n){0,40}") {
            let ends = text.matches("</ralph>").count();
            proptest::prop_assert!(parse_tag_signals(&text).len() <= ends);
        }
    }
}
