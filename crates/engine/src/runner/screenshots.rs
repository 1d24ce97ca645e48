//! The pictures that a plan asks for: whether there are any of an outcome.

use std::fs::{self};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use piton_core::Node;
use piton_core::attempt::Report;
use piton_formats::registry::plan_format;
use piton_formats::screenshots::ImageFormat;

use super::runner_state::Runner;
use super::site::Site;
use crate::world::input;

/// So many bytes tell what a picture is.
const MAGIC: u64 = 12;

impl Runner<'_, '_> {
    /// Adds to a report the pictures that the plan asks for, or that there are none.
    pub(super) fn collect_screenshots(&self, node: &Node, site: &Site, report: &mut Report) {
        let item = self.lp.tables().item(self.row.id, node);
        let native = item.and_then(|item| item.plan.native.as_ref());
        let asked = native.and_then(|native| {
            let format = plan_format(&native.face)?;
            (format.words.screenshot_of_native)(native)
        });
        let Some(asked) = asked else {
            return;
        };
        let project = &site.project;
        for picture in find_pictures_named(&project.work_tree.join(asked)) {
            let picture = project.relative_path(&picture);
            if !report.screenshots.contains(&picture) {
                report.screenshots.push(picture);
            }
        }
        report.lacks_screenshot = report.screenshots.is_empty();
    }
}

/// The images beside `path` that have its name and some ending; where that ends
/// with a number, also those with more words behind it.
fn find_pictures_named(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    let number = name.rsplit_once('-').map(|(_, number)| number);
    let is_number = number.is_some_and(|end| end.bytes().all(|byte| byte.is_ascii_digit()));
    let is_called = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let more = stem.strip_prefix(&*name);
        more.is_some_and(|more| more.is_empty() || (is_number && more.starts_with('-')))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(is_called);
    let mut found: Vec<PathBuf> = paths.filter(|path| is_image(path)).collect();
    found.sort();
    found
}

fn is_image(path: &Path) -> bool {
    let mut magic = Vec::new();
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    let read = is_file.then(|| input::open_file(path)?.take(MAGIC).read_to_end(&mut magic));
    read.is_some_and(|read: std::io::Result<usize>| read.is_ok())
        && ImageFormat::detect(&magic).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n....";

    #[test]
    fn a_picture_is_known_by_its_name_and_its_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, bytes) in [
            ("criterion-3.png", PNG),
            ("criterion-3-login.jpg", PNG),
            ("criterion-3.txt", b"no picture"),
            ("criterion-30.png", PNG),
            ("criterion-fly.png", PNG),
            ("criterion-fly-2.png", PNG),
        ] {
            fs::write(folder.path().join(name), bytes).expect("written");
        }
        let found = |name: &str| {
            let found = find_pictures_named(&folder.path().join(name)).into_iter();
            let names = found.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
            names.collect::<Vec<_>>()
        };
        assert_eq!(
            found("criterion-3"),
            ["criterion-3-login.jpg", "criterion-3.png"]
        );
        assert_eq!(found("criterion-fly"), ["criterion-fly.png"]);
        assert_eq!(found("criterion-4"), Vec::<String>::new());
        assert_eq!(
            find_pictures_named(Path::new("/gone/criterion-3")),
            Vec::<PathBuf>::new()
        );
    }
}
