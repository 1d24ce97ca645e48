//! The private files that agents write into while they run.
//!
//! For each attempt `<attempt>.out`, all that it printed, and `<attempt>.json`,
//! which process that is. Neither is ever backed up, exported or shown as it
//! is: [`copy_redacted`] makes what may be. They are removed when the outcome
//! of the attempt is durable; until then a later piton finds them with
//! [`Spool::list_attempts`]. Of a runner that has joined another one there is `<attempt>.by`
//! as well, with the name of its lock.
//!
//! Nothing in here is flushed to the disk: a power cut ends the agents, too.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Seek as _, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use piton_store::group_access::{is_group_folder, share_with_group};
use sha2::{Digest as _, Sha256};

use crate::failpoint;
use crate::process::ProcessIdentity;
use crate::project::inside::{create_own_folder, write_own_file};
use crate::world::input;

/// A secret up to this length is seen whole wherever it stands.
pub const SECRET_BYTES_MAX: usize = 4 << 10;
/// How much text is redacted at once.
const WINDOW: usize = 1 << 20;
/// What of a window is looked at again with the next one: room for a secret
/// that crosses the cut, one that begins at the end, and a line between them.
const OVERLAP: usize = 4 * SECRET_BYTES_MAX;

/// The folder of the private files.
#[derive(Clone, Debug)]
pub struct Spool {
    folder: PathBuf,
    /// The lock of the runner that writes here, where it has joined another one.
    by: Option<String>,
}

/// What lies in the spool of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpooledAttempt {
    /// The attempt.
    pub attempt: String,
    /// Where its output is, or would be.
    pub output: PathBuf,
    /// Size of its output.
    pub output_bytes: u64,
    /// The process, if piton lived long enough to record it.
    pub id: Option<ProcessIdentity>,
    /// The lock of its runner, where that had joined another one.
    pub by: Option<String>,
}

impl Spool {
    /// Opens the folder, making it as private as the one above if it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be made, or is open to others and cannot be closed to them.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Spool> {
        let folder = folder.into();
        create_own_folder(&folder)?;
        let mode = fs::metadata(&folder)?.permissions().mode();
        if mode & 0o077 != 0 && !is_group_folder(mode) {
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        }
        let by = None;
        Ok(Spool { folder, by })
    }

    /// The same, for a runner that has joined another one and holds this lock.
    #[must_use]
    pub fn with_lock_name(self, lock: Option<&str>) -> Spool {
        let by = lock.map(str::to_owned);
        Spool { by, ..self }
    }

    /// The lock of the runner that writes here, where it has joined another one.
    #[must_use]
    pub fn lock_name(&self) -> Option<&str> {
        self.by.as_deref()
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file for the output of an attempt: see [`crate::process::ProcessSpec::output`].
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] for an id that is no plain file name; or when it
    /// cannot be said whose it is.
    pub fn output_path(&self, attempt: &str) -> io::Result<PathBuf> {
        if let Some(by) = &self.by {
            write_own_file(&self.file_path(attempt, "by")?, by.as_bytes())?;
        }
        self.file_path(attempt, "out")
    }

    /// Records which process an attempt is. To be called right after the start.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, or for an id that is no plain file name.
    pub fn record_process(&self, attempt: &str, id: &ProcessIdentity) -> io::Result<()> {
        let json = serde_json::to_vec(id)?;
        // In one write: a reader sees all of it or, after a crash right here,
        // an empty file, which is as good as none.
        write_own_file(&self.file_path(attempt, "json")?, &json)
    }

    /// What is in the spool, by attempt id.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read. A record that cannot be is as none.
    pub fn list_attempts(&self) -> io::Result<Vec<SpooledAttempt>> {
        let mut attempts = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            if let Some((attempt, "out" | "json" | "by")) = name.rsplit_once('.')
                && is_plain_name(attempt)
            {
                attempts.push(attempt.to_owned());
            }
        }
        attempts.sort_unstable();
        attempts.dedup();
        attempts
            .into_iter()
            .map(|attempt| {
                let output = self.file_path(&attempt, "out")?;
                let record =
                    input::read_file(self.file_path(&attempt, "json")?).unwrap_or_default();
                Ok(SpooledAttempt {
                    by: input::read_file_text(self.file_path(&attempt, "by")?).ok(),
                    output_bytes: fs::metadata(&output).map_or(0, |found| found.len()),
                    id: serde_json::from_slice(&record).ok(),
                    output,
                    attempt,
                })
            })
            .collect()
    }

    /// Removes what is there of an attempt. Nothing there is fine.
    ///
    /// # Errors
    ///
    /// When a file is there and cannot be removed.
    pub fn remove_attempt(&self, attempt: &str) -> io::Result<()> {
        // The record goes last: an output without one could not be told from
        // one that still grows.
        for kind in ["out", "json", "by"] {
            match fs::remove_file(self.file_path(attempt, kind)?) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            failpoint::point("spool.half-removed");
        }
        Ok(())
    }

    fn file_path(&self, attempt: &str, kind: &str) -> io::Result<PathBuf> {
        if is_plain_name(attempt) {
            Ok(self.folder.join(format!("{attempt}.{kind}")))
        } else {
            Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("`{attempt}` cannot name a spool file"),
            ))
        }
    }
}

/// A process that the spool of some run records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpooledProcess {
    /// The name of the spool: the id of the run.
    pub run: String,
    /// The name of the record: the id of the attempt, or the mark of a gate.
    pub attempt: String,
    /// The process.
    pub id: ProcessIdentity,
}

/// The processes that are recorded in the spools below a folder. What cannot be
/// read is left out.
#[must_use]
pub fn recorded_processes(spools: &Path) -> Vec<SpooledProcess> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for spool in entries(spools) {
        for entry in entries(&spool.path()) {
            let name = entry.file_name();
            let Some(attempt) = name.to_str().and_then(|name| name.strip_suffix(".json")) else {
                continue;
            };
            let record = input::read_bytes(&entry.path()).unwrap_or_default();
            if let Ok(id) = serde_json::from_slice(&record) {
                found.push(SpooledProcess {
                    run: spool.file_name().to_string_lossy().into_owned(),
                    attempt: attempt.to_owned(),
                    id,
                });
            }
        }
    }
    found
}

fn is_plain_name(attempt: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=200).contains(&attempt.len()) && !attempt.starts_with('.') && attempt.bytes().all(plain)
}

/// The last `bytes_max` bytes of a file as text; what is no UTF-8 reads as U+FFFD.
///
/// # Errors
///
/// When the file cannot be read.
pub fn read_tail(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut file = input::open_file(path)?;
    let length = file.metadata()?.len();
    let skipped = length.saturating_sub(bytes_max);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    // The file may still grow.
    file.take(bytes_max).read_to_end(&mut bytes)?;
    let text = if skipped > 0 {
        trim_partial_char(&bytes)
    } else {
        &bytes
    };
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// The first `bytes_max` bytes of a file as text; what is no UTF-8 reads as U+FFFD.
///
/// # Errors
///
/// When the file cannot be read.
pub fn read_head(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    input::open_file(path)?
        .take(bytes_max)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Without the rest of a character whose beginning was cut off.
fn trim_partial_char(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3);
    let cut = rest.take_while(|&&byte| byte & 0xC0 == 0x80).count();
    bytes.get(cut..).unwrap_or_default()
}

/// What [`copy_redacted`] wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedCopy {
    /// Size of the copy.
    pub bytes: u64,
    /// SHA-256 of the copy, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Whether the middle was left out.
    pub truncated: bool,
}

/// Copies a file with its secrets removed.
///
/// `redact` gives a text without its secrets; it sees many lines at once, so
/// that a key of several lines can be found, and must give the same for the
/// same text. A secret of up to [`SECRET_BYTES_MAX`] bytes is removed wherever
/// it stands, as long as it can be told to be one from itself and as many bytes
/// around it. Of a source larger than `bytes_max` its beginning and its end
/// are copied, half of `bytes_max` each, with a line between them that says
/// so. What is no UTF-8 becomes U+FFFD, so that the copy can be larger than
/// `bytes_max`.
///
/// The copy is on stable storage when this returns. Where `to` is there it is
/// written beside it and renamed; else it is written under its name, and a
/// process that dies meanwhile leaves a part of it there. Needs memory for a few
/// megabytes, whatever the size.
///
/// # Errors
///
/// When the source cannot be read or the copy cannot be written; then `to` is
/// as it was.
pub fn copy_redacted(
    from: &Path,
    to: &Path,
    redact: &dyn Fn(&str) -> Cow<'_, str>,
    bytes_max: u64,
) -> io::Result<RedactedCopy> {
    let mut source = input::open_file(from)?;
    let folder = match to.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let (target, is_named) = match create_private_file(to) {
        Ok(target) => (target, true),
        // A runner that died wrote it, the whole or a part.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            (tempfile::NamedTempFile::new_in(folder)?, false)
        }
        Err(error) => return Err(error),
    };
    let copied = copy_redacted_into(target.as_file(), &mut source, redact, bytes_max)?;
    target.as_file().sync_all()?;
    failpoint::point("transcript.written");
    match is_named {
        true => target.keep().map(drop).map_err(|error| error.error)?,
        false => target.persist(to).map(drop).map_err(|error| error.error)?,
    }
    share_with_group(to);
    // The file systems of Linux keep the name of a new file with its first flush.
    if !is_named || !cfg!(target_os = "linux") {
        File::open(folder)?.sync_all()?;
    }
    Ok(copied)
}

/// A new private file, which goes unless it is kept.
fn create_private_file(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    let path = tempfile::TempPath::try_from_path(path)?;
    Ok(tempfile::NamedTempFile::from_parts(file, path))
}

/// Copies a file without the lines that begin with this. Lines may be of any
/// length.
///
/// # Errors
///
/// When one of both cannot be read or written.
pub fn copy_without_lines(from: &Path, to: &File, begin: &str) -> io::Result<()> {
    let mut source = BufReader::new(input::open_file(from)?);
    let mut target = BufWriter::new(to);
    loop {
        let mut head = Vec::new();
        let most = begin.len() as u64;
        (&mut source).take(most).read_until(b'\n', &mut head)?;
        if head.is_empty() {
            return target.flush();
        }
        let is_left_out = head == begin.as_bytes();
        if !is_left_out {
            target.write_all(&head)?;
        }
        if head.ends_with(b"\n") {
            continue;
        }
        // The rest of the line, as it comes.
        loop {
            let more = source.fill_buf()?;
            let end = more.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(more.len(), |end| end + 1);
            if !is_left_out {
                target.write_all(&more[..length])?;
            }
            source.consume(length);
            if end.is_some() || length == 0 {
                break;
            }
        }
    }
}

fn copy_redacted_into(
    target: &File,
    source: &mut File,
    redact: &dyn Fn(&str) -> Cow<'_, str>,
    bytes_max: u64,
) -> io::Result<RedactedCopy> {
    let mut sink = HashingWriter {
        file: BufWriter::new(target),
        hash: Sha256::new(),
        bytes: 0,
    };
    // What is appended from here on is not looked at.
    let length = source.metadata()?.len();
    let truncated = length > bytes_max;
    if truncated {
        let head = next_char_boundary(source, bytes_max / 2)?;
        let tail = next_char_boundary(source, length - (bytes_max - bytes_max / 2))?;
        copy_redacted_range(source, 0..head, length, redact, &mut sink)?;
        let left_out = tail.saturating_sub(head);
        sink.write_all(format!("\n[piton: {left_out} bytes left out here]\n").as_bytes())?;
        copy_redacted_range(source, tail..length, length, redact, &mut sink)?;
    } else {
        copy_redacted_range(source, 0..length, length, redact, &mut sink)?;
    }
    sink.flush()?;
    let mut sha256 = String::new();
    for byte in sink.hash.finalize() {
        write!(sha256, "{byte:02x}").expect("a string takes everything");
    }
    Ok(RedactedCopy {
        bytes: sink.bytes,
        sha256,
        truncated,
    })
}

struct HashingWriter<'a> {
    file: BufWriter<&'a File>,
    hash: Sha256,
    bytes: u64,
}

impl Write for HashingWriter<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buf)?;
        self.hash.update(&buf[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The first place from `at` on where no character is cut in two.
fn next_char_boundary(source: &mut File, at: u64) -> io::Result<u64> {
    source.seek(SeekFrom::Start(at))?;
    let mut next = Vec::new();
    source.take(4).read_to_end(&mut next)?;
    Ok(at + (next.len() - trim_partial_char(&next).len()) as u64)
}

/// Copies the bytes of `part`. What lies around it, up to `length`, is read as
/// well, so that a secret which crosses an end is not copied in half.
fn copy_redacted_range(
    source: &mut File,
    part: Range<u64>,
    length: u64,
    redact: &dyn Fn(&str) -> Cow<'_, str>,
    sink: &mut HashingWriter<'_>,
) -> io::Result<()> {
    let overlap = OVERLAP as u64;
    let before = part.start.saturating_sub(overlap);
    let after = part.end.saturating_add(overlap).min(length);
    source.seek(SeekFrom::Start(before))?;
    let mut stitch = WindowRedactor {
        window: String::new(),
        disturbed: 0,
        redact,
    };

    let mut text = Utf8Reader::new(source.take(part.start - before));
    while text.read_chunk(&mut stitch.window)? {}
    let begin = stitch.window.len();

    let mut text = Utf8Reader::new(source.take(part.end - part.start));
    let mut more = text.fill_window(&mut stitch.window)?;
    stitch.write_up_to(begin, &mut io::sink())?;
    while more {
        if stitch.window.len() >= WINDOW {
            let cut = find_cut(&stitch.window);
            stitch.write_up_to(cut, sink)?;
        }
        more = text.fill_window(&mut stitch.window)?;
    }
    let end = stitch.window.len();

    let mut text = Utf8Reader::new(source.take(after - part.end));
    while text.read_chunk(&mut stitch.window)? {}
    stitch.write_up_to(end, sink)
}

/// Redacts a text that is too long to be held at once.
struct WindowRedactor<'a> {
    window: String,
    /// How much of the redacted window has been written with the last one, or
    /// is there only because the window begins in the middle of something.
    disturbed: usize,
    redact: &'a dyn Fn(&str) -> Cow<'_, str>,
}

impl WindowRedactor<'_> {
    /// Writes the window up to `cut`, redacted as if it were never cut.
    ///
    /// `redact` does not say where it changed something. But the whole window
    /// and its part from `cut` on, each redacted, end in the same way, from
    /// behind the last secret that crosses the cut. What stands before that in
    /// the whole is written; what stands before it in the part has no meaning
    /// (it is redacted without its beginning) and is left out next time.
    fn write_up_to(&mut self, cut: usize, to: &mut dyn Write) -> io::Result<()> {
        let whole = (self.redact)(&self.window);
        let part = (self.redact)(&self.window[cut..]);
        let (whole, part) = (whole.as_bytes(), part.as_bytes());
        let same = whole.iter().rev().zip(part.iter().rev());
        let same = same.take_while(|(whole, part)| whole == part).count();
        let written = whole.len() - same;
        to.write_all(&whole[self.disturbed.min(written)..written])?;
        self.disturbed = part.len() - same + self.disturbed.saturating_sub(written);
        self.window.drain(..cut);
        Ok(())
    }
}

/// After a line if one ends in the right place, so that patterns for the
/// beginning of a line hold.
fn find_cut(window: &str) -> usize {
    let latest = window.floor_char_boundary(window.len() - OVERLAP);
    let earliest = window.floor_char_boundary(window.len() - 4 * OVERLAP);
    let line = window[earliest..latest].rfind('\n');
    line.map_or(latest, |line| earliest + line + 1)
}

/// Reads bytes as text, piece by piece.
struct Utf8Reader<R> {
    source: R,
    /// Read, but possibly the beginning of a character.
    bytes: Vec<u8>,
    buffer: Box<[u8]>,
}

impl<R: Read> Utf8Reader<R> {
    fn new(source: R) -> Self {
        Utf8Reader {
            source,
            bytes: Vec::new(),
            buffer: vec![0; 64 << 10].into_boxed_slice(),
        }
    }

    /// Appends until `text` is a full window. Whether there may be more.
    fn fill_window(&mut self, text: &mut String) -> io::Result<bool> {
        while text.len() < WINDOW {
            if !self.read_chunk(text)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Appends a piece. Whether there may be more.
    fn read_chunk(&mut self, text: &mut String) -> io::Result<bool> {
        let count = match self.source.read(&mut self.buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            other => other?,
        };
        self.bytes.extend_from_slice(&self.buffer[..count]);
        let mut rest = self.bytes.as_slice();
        loop {
            match str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    rest = &[];
                    break;
                }
                Err(error) => {
                    let (valid, bad) = rest.split_at(error.valid_up_to());
                    text.push_str(str::from_utf8(valid).expect("checked just now"));
                    rest = bad;
                    match error.error_len() {
                        Some(length) => rest = &bad[length..],
                        // Its other half comes with the next piece, or never.
                        None if count > 0 => break,
                        None => rest = &[],
                    }
                    text.push(char::REPLACEMENT_CHARACTER);
                }
            }
        }
        let kept = self.bytes.len() - rest.len();
        self.bytes.drain(..kept);
        Ok(count > 0)
    }
}
