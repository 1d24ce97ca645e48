//! Screenshots: looked at before anything is recorded, then kept under the
//! names that native files have for them.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use piton_core::name::slug;
use piton_core::{Need, Outcome};
use piton_formats::registry::project_formats;
use piton_formats::screenshots::{
    ImageFormat, ScreenshotSubject, parse_screenshot_name, screenshot_name,
};

use super::item::ResolvedItem;
use crate::failure::{Failure, unreadable_file, unwritable_file};
use crate::native_files::exchange::sync_folder;
use crate::project::inside::create_own_folder;
use crate::session::Session;
use crate::verbs::display_path;
use crate::world::World;
use crate::world::input;

/// So many bytes tell what a picture is.
const MAGIC: u64 = 12;

/// A picture that was looked at and is not kept yet.
pub(super) struct Picture {
    file: File,
    path: PathBuf,
    image: ImageFormat,
}

/// Opens a picture and sees that it is one.
pub(super) fn open_picture(world: &World, path: &Path) -> Result<Picture, Failure> {
    let path = world.resolve_path(path);
    let cannot = |error| unreadable_file(&path, error);
    if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        return Err(not_an_image_failure(&path));
    }
    let mut file = input::open_file(&path).map_err(cannot)?;
    let mut magic = Vec::new();
    (&file)
        .take(MAGIC)
        .read_to_end(&mut magic)
        .map_err(cannot)?;
    file.rewind().map_err(cannot)?;
    let image = ImageFormat::detect(&magic).ok_or_else(|| not_an_image_failure(&path))?;
    Ok(Picture { file, path, image })
}

fn not_an_image_failure(path: &Path) -> Failure {
    Failure::new(
        "file.not_an_image",
        format!("{} is no PNG, JPEG, GIF or WebP image", path.display()),
    )
    .with_hint("name an image with `--screenshot FILE`, and any other file with `--file FILE`")
}

/// Pictures that were kept for an attempt; taken back when it is not recorded.
pub(super) struct StoredPictures(Vec<PathBuf>);

impl StoredPictures {
    /// Keeps pictures of what came of an attempt at an item.
    pub(super) fn copy_all(
        session: &Session<'_>,
        pictures: Vec<Picture>,
        meant: &ResolvedItem,
        outcome: Outcome,
    ) -> Result<Self, Failure> {
        let mut kept = Self(Vec::new());
        if pictures.is_empty() {
            return Ok(kept);
        }
        let folder = pictures_folder(session)?;
        let inside = session.project.resolve_inside(&folder);
        let folder = inside.map_err(|error| unwritable_file(&folder, error))?;
        let made = match folder.starts_with(&session.project.home) {
            true => create_own_folder(&folder),
            false => fs::create_dir_all(&folder),
        };
        made.map_err(|error| unwritable_file(&folder, error))?;
        for picture in pictures {
            match copy_picture(&folder, picture, meant, outcome) {
                Ok(path) => kept.0.push(path),
                Err(error) => {
                    kept.remove_all();
                    return Err(unwritable_file(&folder, error));
                }
            }
        }
        sync_folder(&folder).map_err(|error| unwritable_file(&folder, error))?;
        Ok(kept)
    }

    /// Their paths, as the journal keeps them.
    pub(super) fn paths(&self, session: &Session<'_>) -> Vec<String> {
        self.0
            .iter()
            .map(|path| display_path(session, path))
            .collect()
    }

    /// The attempt was not recorded: no record names these copies.
    pub(super) fn remove_all(self) {
        for path in self.0 {
            fs::remove_file(path).ok();
        }
    }
}

fn pictures_folder(session: &Session<'_>) -> Result<PathBuf, Failure> {
    let rows = session.load(&[Need::Faces])?;
    let is_on = |face: &str| {
        rows.tables
            .native_files()
            .any(|row| row.on && row.face == face)
    };
    let folder = project_formats().iter().find_map(|family| {
        let kept = family.files.iter().any(|file| is_on(file.face));
        family.pictures.filter(|_| kept)
    });
    Ok(match folder {
        Some(folder) => session.project.root.join(folder),
        None => session.project.home.join("blobs/screenshots"),
    })
}

/// Copies a picture under a name that no other process gets meanwhile.
fn copy_picture(
    folder: &Path,
    mut picture: Picture,
    meant: &ResolvedItem,
    outcome: Outcome,
) -> io::Result<PathBuf> {
    let mut copy = tempfile::NamedTempFile::new_in(folder)?;
    io::copy(&mut picture.file, copy.as_file_mut())?;
    // As private as its folder: one of the work tree is for all who read that.
    let mode = fs::metadata(folder)?.permissions().mode() & 0o666;
    copy.as_file()
        .set_permissions(fs::Permissions::from_mode(mode))?;
    copy.as_file_mut().flush()?;
    copy.as_file().sync_all()?;
    loop {
        let path = folder.join(free_picture_name(folder, &picture, meant, outcome)?);
        match copy.persist_noclobber(&path) {
            Ok(_) => return Ok(path),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => copy = error.file,
            Err(error) => return Err(error.error),
        }
    }
}

/// `criterion-3-login.png` where the item has a number, `error-001.png` where
/// something went wrong, else a name made of the item's.
fn free_picture_name(
    folder: &Path,
    picture: &Picture,
    meant: &ResolvedItem,
    outcome: Outcome,
) -> io::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    let taken: Vec<&str> = names.iter().map(String::as_str).collect();
    let given = picture.path.file_name().map(|name| name.to_string_lossy());
    let given = given.as_deref().unwrap_or_default();
    let description = match parse_screenshot_name(given) {
        Some((_, description)) => description,
        None => given.rsplit_once('.').map_or(given, |(stem, _)| stem),
    };
    Ok(match (outcome, meant.number) {
        (Outcome::Completed | Outcome::Partial, Some(number)) => {
            let shows = ScreenshotSubject::Criterion(number);
            screenshot_name(shows, description, picture.image, &taken)
        }
        (Outcome::Completed | Outcome::Partial, None) => {
            let stem: String = slug(&meant.item).chars().take(60).collect();
            let free = (1_u64..).map(|nth| match nth {
                1 => stem.clone(),
                nth => format!("{stem}-{nth}"),
            });
            let is_free = |stem: &String| {
                !taken.iter().any(|name| {
                    name.rsplit_once('.')
                        .is_some_and(|(have, _)| have.eq_ignore_ascii_case(stem))
                })
            };
            let stem = free
                .into_iter()
                .find(is_free)
                .expect("a folder has an end, numbers have none");
            format!("{stem}.{}", picture.image.extension())
        }
        (Outcome::Failed | Outcome::Blocked | Outcome::NeedsHuman | Outcome::Interrupted, _) => {
            screenshot_name(ScreenshotSubject::Error, "", picture.image, &taken)
        }
    })
}
