//! `screenshots/`: pictures of what was seen, and how they are called.
//!
//! `criterion-3.png`, `criterion-3-login-page.png`, `error-001.png`.

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenshotSubject {
    /// That the criterion of this number is met.
    Criterion(u64),
    /// Something that went wrong.
    Error,
}

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    Webp,
}

impl ImageFormat {
    /// What the first bytes of a file say that it is; twelve are enough.
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'E',
                b'B',
                b'P',
                ..,
            ] => Some(Self::Webp),
            _ => None,
        }
    }

    /// What its name ends with.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Gif => "gif",
            Self::Webp => "webp",
        }
    }
}

/// The name for a picture that none of `taken` has: errors are numbered, and a
/// second picture of the same gets `-2`.
pub fn screenshot_name(
    shows: ScreenshotSubject,
    description: &str,
    image: ImageFormat,
    taken: &[&str],
) -> String {
    let extension = image.extension();
    // Whatever its kind: two files that differ only there would be one thing
    // to a person.
    let is_free = |stem: &str| {
        !taken.iter().any(|name| {
            let have = name.rsplit_once('.').map_or(*name, |(have, _)| have);
            have.eq_ignore_ascii_case(stem)
        })
    };
    let stems: Box<dyn Iterator<Item = String>> = match shows {
        ScreenshotSubject::Error => Box::new((1_u64..).map(|number| format!("error-{number:03}"))),
        ScreenshotSubject::Criterion(number) => {
            let slug = slugify(description);
            let dash = if slug.is_empty() { "" } else { "-" };
            let stem = format!("criterion-{number}{dash}{slug}");
            let others = stem.clone();
            let more = (2_u64..).map(move |count| format!("{others}-{count}"));
            Box::new(std::iter::once(stem).chain(more))
        }
    };
    let mut stems = stems.filter(|stem| is_free(stem));
    let stem = stems
        .next()
        .expect("a list of names has an end, numbers have none");
    format!("{stem}.{extension}")
}

/// What a name says that a picture shows, and the description in it.
pub fn parse_screenshot_name(name: &str) -> Option<(ScreenshotSubject, &str)> {
    let (stem, extension) = name.rsplit_once('.')?;
    if !["png", "jpg", "jpeg", "gif", "webp"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(extension))
    {
        return None;
    }
    if let Some(number) = stem.strip_prefix("error-") {
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        return digits.then_some((ScreenshotSubject::Error, ""));
    }
    let rest = stem.strip_prefix("criterion-")?;
    let (number, description) = rest.split_once('-').unwrap_or((rest, ""));
    let number = number.parse().ok()?;
    Some((ScreenshotSubject::Criterion(number), description))
}

/// Lower-case letters and digits with `-` between, at most 40 of them.
fn slugify(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if out.len() >= 40 {
            break;
        }
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_follows_the_rule_and_is_free() {
        let png = ImageFormat::Png;
        let name =
            |shows, description, taken: &[&str]| screenshot_name(shows, description, png, taken);
        assert_eq!(
            name(ScreenshotSubject::Criterion(3), "", &[]),
            "criterion-3.png"
        );
        assert_eq!(
            name(ScreenshotSubject::Criterion(3), " Login: page! ", &[]),
            "criterion-3-login-page.png"
        );
        assert_eq!(
            name(
                ScreenshotSubject::Criterion(3),
                "",
                &["criterion-3.jpg", "criterion-3-2.png"]
            ),
            "criterion-3-3.png"
        );
        assert_eq!(name(ScreenshotSubject::Error, "", &[]), "error-001.png");
        assert_eq!(
            name(ScreenshotSubject::Error, "", &["error-001.png", "x.png"]),
            "error-002.png"
        );
    }

    #[test]
    fn a_name_is_read_as_it_was_given() {
        assert_eq!(
            parse_screenshot_name("criterion-3-login.png"),
            Some((ScreenshotSubject::Criterion(3), "login"))
        );
        assert_eq!(
            parse_screenshot_name("criterion-3.png"),
            Some((ScreenshotSubject::Criterion(3), ""))
        );
        assert_eq!(
            parse_screenshot_name("error-017.png"),
            Some((ScreenshotSubject::Error, ""))
        );
        for name in [
            "criterion-.png",
            "error-.png",
            "criterion-3.txt",
            "photo.png",
            "",
        ] {
            assert_eq!(parse_screenshot_name(name), None, "{name}");
        }
    }

    #[test]
    fn a_picture_is_told_by_its_first_bytes() {
        assert_eq!(
            ImageFormat::detect(b"\x89PNG\r\n\x1a\nrest"),
            Some(ImageFormat::Png)
        );
        assert_eq!(
            ImageFormat::detect(b"\xff\xd8\xff\xe0"),
            Some(ImageFormat::Jpeg)
        );
        assert_eq!(ImageFormat::detect(b"GIF89a"), Some(ImageFormat::Gif));
        assert_eq!(
            ImageFormat::detect(b"RIFF\0\0\0\0WEBPVP8 "),
            Some(ImageFormat::Webp)
        );
        assert_eq!(ImageFormat::detect(b"RIFF\0\0\0\0WAVE"), None);
        assert_eq!(ImageFormat::detect(b""), None);
    }
}
