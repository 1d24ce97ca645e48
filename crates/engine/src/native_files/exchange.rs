//! Replacing a file so that a power cut leaves the old one or the new one, and no
//! writer's work is lost.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use sha2::digest::common::hazmat::SerializableState as _;
use sha2::{Digest as _, Sha256};

use crate::failpoint;
use crate::native_files::stat_fingerprint::StatFingerprint;
use crate::world::input;
use crate::world::input::render_hex;

/// The SHA-256 of bytes of which the last are not known yet.
#[derive(Clone, Debug)]
pub struct IncrementalHash(Sha256);

impl IncrementalHash {
    /// That of these bytes, and of others behind them.
    #[must_use]
    pub fn new_with_prefix(bytes: &[u8]) -> Self {
        Self(Sha256::new_with_prefix(bytes))
    }

    /// What [`IncrementalHash::state_hex`] told; none for what it did not.
    #[must_use]
    pub fn from_state_hex(hex: &str) -> Option<Self> {
        let digit = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(digit).collect();
        let state = bytes?.as_slice().try_into().ok()?;
        Sha256::deserialize(&state).ok().map(Self)
    }

    /// How far it has come, in hex.
    #[must_use]
    pub fn state_hex(&self) -> String {
        render_hex(&self.0.serialize())
    }

    /// The same with these bytes behind.
    #[must_use]
    pub fn chain_update(&self, bytes: &[u8]) -> Self {
        Self(self.0.clone().chain_update(bytes))
    }

    /// The hash of all of them, in hex.
    #[must_use]
    pub fn finalize_hex(self) -> String {
        render_hex(&self.0.finalize())
    }
}

/// A new version of a file, beside it and on stable storage, not yet in its place.
#[derive(Debug)]
pub struct StagedFile {
    temp: tempfile::TempPath,
    target: PathBuf,
}

/// Writes a new version of `target` beside it.
///
/// # Errors
///
/// When it cannot be written; nothing is left then.
pub fn stage(target: &Path, bytes: &[u8]) -> io::Result<StagedFile> {
    stage_with_suffix(target, bytes, TEMP_END, true)
}

/// The same, not on stable storage yet: for what is made of other files.
///
/// # Errors
///
/// When it cannot be written; nothing is left then.
pub fn stage_unflushed(target: &Path, bytes: &[u8]) -> io::Result<StagedFile> {
    stage_with_suffix(target, bytes, TEMP_END, false)
}

/// Writes beside `target` what `target` is up to byte `at`, and then `end`. The
/// former is copied, or shared, by the system.
///
/// # Errors
///
/// When it cannot be read or written; nothing is left then.
pub fn stage_spliced(target: &Path, at: u64, end: &[u8]) -> io::Result<StagedFile> {
    let mut file = create_named_temp(target, TEMP_END)?;
    failpoint::point("exchange.splice-begun");
    let mut old = input::open_file(target)?;
    copy_prefix(&mut old, at, file.as_file_mut())?;
    file.write_all(end)?;
    file.as_file()
        .set_permissions(old.metadata()?.permissions())?;
    sync_file(file.as_file())?;
    Ok(StagedFile {
        temp: file.into_temp_path(),
        target: target.to_owned(),
    })
}

/// A new file beside `target`, with nothing in it.
///
/// # Errors
///
/// When it cannot be made.
pub fn create_temp_file(target: &Path) -> io::Result<tempfile::TempPath> {
    Ok(create_named_temp(target, TEMP_END)?.into_temp_path())
}

/// An older version of a file, which the next version can be made of.
#[derive(Clone, Copy, Debug)]
pub struct OlderVersion<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// How many bytes at its beginning are the same in the file.
    pub same_bytes: u64,
}

/// Makes of `older`, a version of `target`, what `target` is up to byte `at`, and then
/// `end`. Only what follows the bytes that both share is read and written. The older
/// version is used up: it replaces `temp`, which [`create_temp_file`] made.
///
/// # Errors
///
/// When it cannot be read or written; the target is as it was.
pub fn stage_from_previous(
    older: OlderVersion<'_>,
    temp: tempfile::TempPath,
    target: &Path,
    at: u64,
    end: &[u8],
) -> io::Result<StagedFile> {
    let mut old = input::open_file(target)?;
    let same = older.same_bytes.min(at);
    old.seek(io::SeekFrom::Start(same))?;
    let mut rest = Vec::new();
    let between = (&old).take(at - same).read_to_end(&mut rest)?;
    if between as u64 != at - same {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    rest.extend_from_slice(end);
    fs::rename(older.path, &temp)?;
    failpoint::point("exchange.spare-taken");
    let mut file = fs::OpenOptions::new().write(true).open(&temp)?;
    file.seek(io::SeekFrom::Start(same))?;
    file.write_all(&rest)?;
    file.set_len(same + rest.len() as u64)?;
    file.set_permissions(old.metadata()?.permissions())?;
    sync_file(&file)?;
    Ok(StagedFile {
        temp,
        target: target.to_owned(),
    })
}

/// Copies the first `length` bytes to another file; on Linux the system does,
/// without handing them to this process.
fn copy_prefix(from: &mut File, length: u64, to: &mut File) -> io::Result<()> {
    // `io::copy` uses `copy_file_range` where there is one.
    let copied = io::copy(&mut (&*from).take(length), to)?;
    if copied == length {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// What the names of new versions end with.
const TEMP_END: &str = ".tmp";
/// What the names of copies end with that are made of what will be replaced,
/// where nothing can be exchanged.
const KEEP_END: &str = ".old.tmp";
/// How many random characters stand before that.
const RANDOM: usize = 6;

/// A file beside another that [`stage`] made and that a crash left there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Where it is.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// Whether it may be the only copy of what another writer wrote.
    pub kept: bool,
}

/// What crashes in the middle of [`stage`] or [`StagedFile::exchange`] left beside `target`.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn find_leftovers(target: &Path) -> io::Result<Vec<Leftover>> {
    let begin = format!(".{}.", file_name(target));
    let mut found = Vec::new();
    for entry in fs::read_dir(parent_folder(target))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(&begin) else {
            continue;
        };
        let random = rest
            .strip_suffix(KEEP_END)
            .or_else(|| rest.strip_suffix(TEMP_END));
        let is_own = random.is_some_and(|random| {
            random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        if is_own {
            found.push(Leftover {
                path: parent_folder(target).join(&name),
                kept: rest.ends_with(KEEP_END),
                name,
            });
        }
    }
    Ok(found)
}

fn parent_folder(target: &Path) -> &Path {
    target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn file_name(target: &Path) -> std::borrow::Cow<'_, str> {
    target.file_name().unwrap_or_default().to_string_lossy()
}

fn create_named_temp(target: &Path, end: &str) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    let prefix = format!(".{}.", file_name(target));
    builder.prefix(&prefix).suffix(end).rand_bytes(RANDOM);
    set_default_mode(&mut builder);
    builder.tempfile_in(parent_folder(target))
}

fn stage_with_suffix(
    target: &Path,
    bytes: &[u8],
    end: &str,
    flush: bool,
) -> io::Result<StagedFile> {
    let mut file = create_named_temp(target, end)?;
    failpoint::point("exchange.temp-made");
    file.write_all(bytes)?;
    if let Ok(found) = fs::metadata(target) {
        file.as_file().set_permissions(found.permissions())?;
    }
    if flush {
        sync_file(file.as_file())?;
    }
    Ok(StagedFile {
        temp: file.into_temp_path(),
        target: target.to_owned(),
    })
}

/// A new file gets the mode of any other that this user makes.
#[cfg(unix)]
fn set_default_mode(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt as _;
    builder.permissions(fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn set_default_mode(_: &mut tempfile::Builder<'_, '_>) {}

impl Leftover {
    /// Gives it a name under which it stays until a person has read it, and returns
    /// that name.
    ///
    /// # Errors
    ///
    /// When it cannot be renamed.
    pub fn preserve_file(&self) -> io::Result<String> {
        rename_as_preserved(&self.path)
    }
}

/// Gives a version of a file a name under which it stays; see [`Leftover::kept`].
fn rename_as_preserved(path: &Path) -> io::Result<String> {
    let name = file_name(path);
    if name.ends_with(KEEP_END) {
        return Ok(name.into_owned());
    }
    let kept = name.strip_suffix(TEMP_END).unwrap_or(&name);
    let kept = format!("{kept}{KEEP_END}");
    fs::rename(path, path.with_file_name(&kept))?;
    Ok(kept)
}

impl StagedFile {
    /// What the system says of the new version.
    pub(crate) fn stat_fingerprint(&self) -> Option<StatFingerprint> {
        StatFingerprint::of_path(&self.temp)
    }

    /// The name that the new version has for now, and the old one after the exchange.
    #[must_use]
    pub fn temp_name(&self) -> String {
        file_name(&self.temp).into_owned()
    }

    /// Puts the new version into its place, and gives back what was there.
    ///
    /// The file that came out is removed unless
    /// [`DisplacedVersion::restore_to_target`] is called.
    ///
    /// # Errors
    ///
    /// When the place cannot be written; the file is as it was.
    pub fn exchange(self) -> io::Result<DisplacedVersion> {
        match exchange_paths(&self.temp, &self.target) {
            Ok(()) => Ok(DisplacedVersion {
                old: Some(self.temp),
                target: self.target,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.temp
                    .persist_noclobber(&self.target)
                    .map_err(|failed| failed.error)?;
                Ok(DisplacedVersion {
                    old: None,
                    target: self.target,
                })
            }
            Err(error) if is_exchange_unsupported(&error) => {
                let old = input::read_file(&self.target)?;
                let keep = stage_with_suffix(&self.target, &old, KEEP_END, true)?;
                self.temp
                    .persist(&self.target)
                    .map_err(|failed| failed.error)?;
                Ok(DisplacedVersion {
                    old: Some(keep.temp),
                    target: self.target,
                })
            }
            Err(error) => Err(error),
        }
    }
}

/// A copy of a version that came out of an exchange and went back.
#[derive(Debug)]
pub struct DisplacedCopy {
    bytes: Vec<u8>,
    path: PathBuf,
}

impl DisplacedCopy {
    /// What it holds.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes it: what it holds is known.
    pub fn remove(self) {
        // What cannot be removed now is looked at again later.
        fs::remove_file(&self.path).ok();
    }
}

/// The version of a file that a new one took the place of.
#[derive(Debug)]
pub struct DisplacedVersion {
    old: Option<tempfile::TempPath>,
    target: PathBuf,
}

impl DisplacedVersion {
    /// The displaced version of `target` that an exchange left under the name
    /// `path` when its process died.
    #[must_use]
    pub fn from_leftover(path: PathBuf, target: &Path) -> Self {
        Self {
            old: tempfile::TempPath::try_from_path(path).ok(),
            target: target.to_owned(),
        }
    }

    /// Where it is for now; none when there was no file.
    #[must_use]
    pub fn temp_path(&self) -> Option<&Path> {
        self.old.as_deref()
    }

    /// Its bytes; none when there was no file.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn read(&self) -> io::Result<Option<Vec<u8>>> {
        self.old.as_ref().map(input::read_file).transpose()
    }

    /// A copy of it that stays beside its place, also when this process dies,
    /// until [`DisplacedCopy::remove`] says that it is of no use any more; none when there
    /// was no file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or the copy cannot be written.
    pub fn copy_beside(&self) -> io::Result<Option<DisplacedCopy>> {
        let bytes = self.read()?;
        bytes
            .map(|bytes| write_displaced_copy(&self.target, bytes))
            .transpose()
    }

    /// Keeps it under another name.
    ///
    /// # Errors
    ///
    /// When there was no file, or it cannot be moved there; it is gone then.
    pub fn persist_at(mut self, path: &Path) -> io::Result<()> {
        let old = self.old.take().ok_or(io::ErrorKind::NotFound)?;
        old.persist(path).map_err(|failed| failed.error)
    }

    /// Leaves it where it is for now.
    pub fn leave_on_disk(self) {
        if let Some(old) = self.old {
            // On an error it is only not taken away by this process.
            old.keep().ok();
        }
    }

    /// Puts it into its place again. `is_own` tells the version that had taken
    /// its place.
    ///
    /// Another writer may have saved the file once more since: then that version is
    /// in the place, and this one stays beside it.
    ///
    /// # Errors
    ///
    /// When the place cannot be written; nothing is taken away then.
    pub fn restore_to_target(
        mut self,
        is_own: impl Fn(&Path) -> bool,
    ) -> io::Result<Option<LaterSave>> {
        let Some(old) = self.old.take() else {
            return Ok(None);
        };
        // Whatever fails from here on, it is not lost.
        let old = old.keep().map_err(|failed| failed.error)?;
        match exchange_paths(&old, &self.target) {
            Err(error) if is_exchange_unsupported(&error) => {
                fs::rename(&old, &self.target)?;
                return Ok(None);
            }
            // The file was removed meanwhile: there is nothing to exchange it with.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::hard_link(&old, &self.target)?;
                fs::remove_file(&old)?;
                return Ok(None);
            }
            other => other?,
        }
        if is_own(&old) {
            fs::remove_file(&old)?;
            return Ok(None);
        }
        // A program that read the file in this moment does not know of the later version.
        let copy = write_displaced_copy(&self.target, input::read_file(&old)?)?;
        match exchange_paths(&old, &self.target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
        let beside = rename_as_preserved(&old)?;
        Ok(Some(LaterSave { beside, copy }))
    }
}

/// Another writer had saved the file once more when a version was to go back.
#[derive(Debug)]
pub struct LaterSave {
    /// The name of the version that was to go back.
    pub beside: String,
    /// The later one, which is in the place.
    pub copy: DisplacedCopy,
}

fn write_displaced_copy(target: &Path, bytes: Vec<u8>) -> io::Result<DisplacedCopy> {
    let copy = stage_with_suffix(target, &bytes, KEEP_END, true)?;
    let path = copy.temp.keep().map_err(|failed| failed.error)?;
    Ok(DisplacedCopy { bytes, path })
}

/// Exchanges two names in one step.
///
/// # Errors
///
/// When one of them is not there, or the file system cannot do it.
#[cfg(target_os = "linux")]
pub(crate) fn exchange_paths(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(target_os = "macos")]
pub(crate) fn exchange_paths(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) fn exchange_paths(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn is_exchange_unsupported(error: &io::Error) -> bool {
    // Some file systems know rename but not exchange: EINVAL, ENOSYS, ENOTSUP.
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
    )
}

/// Makes what was written into a file durable: each call is one flush more that an
/// event costs.
///
/// # Errors
///
/// When it cannot be flushed.
pub fn sync_file(file: &File) -> io::Result<()> {
    failpoint::point("exchange.flush");
    file.sync_data()
}

/// Makes the names in a folder durable.
///
/// # Errors
///
/// When the folder cannot be opened or flushed.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Writes to what is not a regular file: a pipe, a terminal, `/dev/stdout`.
///
/// # Errors
///
/// When it cannot be opened or written.
pub fn write_through(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(target)?;
    file.write_all(bytes)?;
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_comes_out_of_the_exchange() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("PROGRESS.yaml");
        let first = stage(&target, b"one")
            .and_then(StagedFile::exchange)
            .expect("written");
        assert_eq!(first.read().expect("read"), None);
        drop(first);
        let second = stage(&target, b"two")
            .and_then(StagedFile::exchange)
            .expect("written");
        assert_eq!(second.read().expect("read").as_deref(), Some(&b"one"[..]));
        let later = second
            .restore_to_target(|path| fs::read(path).is_ok_and(|bytes| bytes == b"two"))
            .expect("put back");
        assert!(later.is_none(), "{later:?}");
        assert_eq!(fs::read(&target).expect("read"), b"one");
        let names: Vec<_> = fs::read_dir(folder.path()).expect("listed").collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    /// Two programs save the file while piton exchanges it and looks at what
    /// came out: the later version holds, and the earlier one is kept beside.
    #[test]
    fn what_was_saved_since_is_not_lost_when_the_version_before_is_put_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("progress.json");
        fs::write(&target, "theirs").expect("written");
        let displaced = stage(&target, b"ours")
            .and_then(StagedFile::exchange)
            .expect("written");
        let later = folder.path().join("progress.json.tmp");
        fs::write(&later, "theirs, later").expect("written");
        fs::rename(&later, &target).expect("renamed");
        let later_one = displaced
            .restore_to_target(|path| fs::read(path).is_ok_and(|bytes| bytes == b"ours"))
            .expect("put back")
            .expect("the version before is kept");
        assert_eq!(fs::read(&target).expect("read"), b"theirs, later");
        assert_eq!(later_one.copy.bytes(), b"theirs, later");
        later_one.copy.remove();
        let left = find_leftovers(&target).expect("listed");
        assert_eq!((left.len(), left[0].kept), (1, true), "{left:?}");
        assert_eq!(left[0].name, later_one.beside);
        assert_eq!(fs::read(&left[0].path).expect("read"), b"theirs");
    }

    #[cfg(unix)]
    #[test]
    fn the_mode_of_the_old_file_is_kept() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("file");
        fs::write(&target, "x").expect("written");
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).expect("set");
        drop(
            stage(&target, b"y")
                .and_then(StagedFile::exchange)
                .expect("written"),
        );
        assert_eq!(
            fs::metadata(&target).expect("there").permissions().mode() & 0o777,
            0o640
        );
    }
}
