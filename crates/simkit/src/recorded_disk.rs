//! What a power cut leaves of a folder: recorded from real programs by strace,
//! and cut at any operation.
//!
//! [`STRACE`] records every write, flush and change of a name below a folder, in
//! the order in which they returned. [`RecordedDisk::cut`] takes the first so many
//! of them and answers what a disk may hold then:
//!
//! - of the writes to a file since its last flush, each is dropped, torn at a
//!   sector or kept, in any combination;
//! - of the names made, changed and removed since their folder was flushed, the
//!   first so many are kept. A flush of a file keeps its content and no name, which
//!   is less than ext4, XFS and btrfs promise.
//!
//! With [`Flushes::Ignored`] no flush does anything: programs that are right lose
//! data then, which shows that such a loss is seen.
//!
//! What is written through a memory map is not recorded; of a store that is
//! `journal.db-shm` alone, whose content no power cut leaves.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::seed::mix;

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

/// The arguments of strace for a recording, before `-o FILE PROGRAM`.
pub const STRACE: &[&str] = &[
    "-f",
    "-y",
    "-qq",
    "--seccomp-bpf",
    "--signal=none",
    "-s",
    "100000000",
    "-e",
    "trace=openat,open,creat,write,pwrite64,writev,pwritev,lseek,ftruncate,truncate,fallocate,\
     copy_file_range,sendfile,fsync,fdatasync,sync_file_range,rename,renameat,renameat2,link,linkat,\
     unlink,unlinkat,mkdir,mkdirat,rmdir,symlink,symlinkat,clone,clone3",
];

/// Whether flushes do what they promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushes {
    /// They do.
    Work,
    /// They do nothing: the control.
    Ignored,
}

type Inode = usize;

#[derive(Clone, Debug)]
enum Change {
    Write { at: usize, data: Vec<u8> },
    SetLength(usize),
}

/// A change of one name; a folder has no content of its own.
#[derive(Clone, Debug)]
enum Rename {
    Name { path: PathBuf, inode: Inode },
    Remove { path: PathBuf },
    MakeFolder { path: PathBuf },
}

#[derive(Clone, Debug)]
enum Operation {
    Change {
        inode: Inode,
        change: Change,
    },
    Rename(Vec<Rename>),
    Flush(Inode),
    FlushFolder,
    /// A line that a program printed: what it acknowledged.
    Print(String),
}

/// A folder and what programs did to it.
#[derive(Debug)]
pub struct RecordedDisk {
    folder: PathBuf,
    begin: BTreeMap<PathBuf, Inode>,
    folders: Vec<PathBuf>,
    contents: Vec<Vec<u8>>,
    operations: Vec<Operation>,
}

/// What a cut leaves.
#[derive(Debug)]
pub struct Left {
    folders: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// What programs had printed before the power went.
    pub printed: String,
}

impl Left {
    /// Writes it into an empty folder.
    ///
    /// # Errors
    ///
    /// When that folder cannot be written.
    pub fn write_to(&self, folder: &Path) -> io::Result<()> {
        for below in &self.folders {
            fs::create_dir_all(folder.join(below))?;
        }
        for (path, bytes) in &self.files {
            let path = folder.join(path);
            if let Some(above) = path.parent() {
                fs::create_dir_all(above)?;
            }
            fs::write(path, bytes)?;
        }
        Ok(())
    }

    /// The content of a file, where there is one of that name.
    #[must_use]
    pub fn read(&self, path: &str) -> Option<&[u8]> {
        self.files.get(Path::new(path)).map(Vec::as_slice)
    }
}

/// Numbers from a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = mix(self.0);
        let below = self.0 % u64::try_from(end).expect("a length");
        usize::try_from(below).expect("below a length")
    }
}

impl RecordedDisk {
    /// The folder as it is now, before the programs that are recorded start.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn before(folder: &Path) -> io::Result<Self> {
        let mut disk = Self {
            folder: fs::canonicalize(folder)?,
            begin: BTreeMap::new(),
            folders: Vec::new(),
            contents: Vec::new(),
            operations: Vec::new(),
        };
        let mut left = vec![disk.folder.clone()];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                let name = disk.relative(&path).expect("below the folder");
                if path.is_dir() {
                    disk.folders.push(name);
                    left.push(path);
                } else {
                    disk.begin.insert(name, disk.contents.len());
                    disk.contents.push(fs::read(&path)?);
                }
            }
        }
        Ok(disk)
    }

    /// Adds what strace recorded.
    ///
    /// # Errors
    ///
    /// A call that this does not know how to repeat.
    pub fn record(&mut self, trace: impl io::BufRead) -> io::Result<()> {
        let mut reader = Reader {
            names: self.begin.clone(),
            lengths: self.contents.iter().map(Vec::len).collect(),
            offsets: BTreeMap::new(),
            appends: BTreeMap::new(),
            processes: BTreeMap::new(),
            disk: self,
        };
        let mut unfinished: BTreeMap<String, String> = BTreeMap::new();
        for line in trace.lines() {
            let line = line?;
            let Some((pid, call)) = line.split_once(' ') else {
                continue;
            };
            let call = call.trim_start();
            if let Some(begun) = call.strip_suffix(" <unfinished ...>") {
                unfinished.insert(pid.to_owned(), begun.to_owned());
            } else if let Some((_, rest)) = call
                .strip_prefix("<... ")
                .and_then(|call| call.split_once(" resumed>"))
            {
                let begun = unfinished.remove(pid).unwrap_or_default();
                reader.call(pid, &format!("{begun}{rest}"))?;
            } else {
                reader.call(pid, call)?;
            }
        }
        Ok(())
    }

    /// How many operations were recorded.
    #[must_use]
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Cuts the power behind so many operations.
    #[must_use]
    pub fn cut(&self, operations: usize, flushes: Flushes, seed: u64) -> Left {
        let mut chance = Chance(seed);
        let mut contents: BTreeMap<Inode, Vec<u8>> = BTreeMap::new();
        let mut pending: BTreeMap<Inode, Vec<&Change>> = BTreeMap::new();
        let mut names = self.begin.clone();
        let mut folders = self.folders.clone();
        let mut renames: Vec<&[Rename]> = Vec::new();
        let mut printed = String::new();
        let content = |inode: Inode| self.contents.get(inode).cloned().unwrap_or_default();
        for operation in self.operations.iter().take(operations) {
            match operation {
                Operation::Change { inode, change } => {
                    pending.entry(*inode).or_default().push(change);
                }
                Operation::Rename(all) => renames.push(all),
                Operation::Print(text) => printed.push_str(text),
                Operation::Flush(inode) if flushes == Flushes::Work => {
                    let bytes = contents.entry(*inode).or_insert_with(|| content(*inode));
                    for change in pending.remove(inode).unwrap_or_default() {
                        change.apply(bytes);
                    }
                }
                Operation::FlushFolder if flushes == Flushes::Work => {
                    for all in std::mem::take(&mut renames) {
                        apply_renames(all, &mut names, &mut folders);
                    }
                }
                Operation::Flush(_) | Operation::FlushFolder => {}
            }
        }
        let kept = chance.below(renames.len() + 1);
        for all in renames.into_iter().take(kept) {
            apply_renames(all, &mut names, &mut folders);
        }
        for (inode, changes) in pending {
            let bytes = contents.entry(inode).or_insert_with(|| content(inode));
            for change in changes {
                change.apply_some(bytes, &mut chance);
            }
        }
        let files = names.into_iter().map(|(name, inode)| {
            let bytes = contents.get(&inode).cloned();
            (name, bytes.unwrap_or_else(|| content(inode)))
        });
        Left {
            folders,
            files: files.collect(),
            printed,
        }
    }

    fn relative(&self, path: &Path) -> Option<PathBuf> {
        let path = path.strip_prefix(&self.folder).ok()?;
        // The kernel names a file that has no name any more so.
        (!path.to_string_lossy().ends_with(" (deleted)")).then(|| path.to_owned())
    }
}

fn apply_renames(all: &[Rename], names: &mut BTreeMap<PathBuf, Inode>, folders: &mut Vec<PathBuf>) {
    for rename in all {
        match rename {
            Rename::Name { path, inode } => drop(names.insert(path.clone(), *inode)),
            Rename::Remove { path } => {
                names.remove(path);
                folders.retain(|folder| folder != path);
            }
            Rename::MakeFolder { path } => folders.push(path.clone()),
        }
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write { at, data } => write_at(bytes, *at, data),
            Self::SetLength(length) => bytes.resize(*length, 0),
        }
    }

    /// Half of what was not flushed is lost, a quarter is torn.
    fn apply_some(&self, bytes: &mut Vec<u8>, chance: &mut Chance) {
        match (chance.below(4), self) {
            (0 | 1, _) => {}
            (2, Self::Write { at, data }) => {
                let sectors = chance.below(data.len() / SECTOR + 1);
                write_at(bytes, *at, &data[..sectors * SECTOR]);
            }
            _ => self.apply(bytes),
        }
    }
}

fn write_at(bytes: &mut Vec<u8>, at: usize, data: &[u8]) {
    let end = at + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at..end].copy_from_slice(data);
}

/// Reads calls, and follows what files and descriptors come to.
struct Reader<'disk> {
    disk: &'disk mut RecordedDisk,
    names: BTreeMap<PathBuf, Inode>,
    lengths: Vec<usize>,
    /// Where a descriptor of a process writes next.
    offsets: BTreeMap<(String, String), usize>,
    /// Descriptors that always write at the end.
    appends: BTreeMap<(String, String), bool>,
    /// The process of a thread.
    processes: BTreeMap<String, String>,
}

/// A call that returned.
struct Call<'line> {
    name: &'line str,
    arguments: Vec<&'line str>,
    result: &'line str,
}

impl<'line> Call<'line> {
    fn parse(line: &'line str) -> Option<Self> {
        let (name, rest) = line.split_once('(')?;
        let mut arguments = Vec::new();
        let (mut depth, mut begin, mut in_text, mut escaped) = (0_u32, 0, false, false);
        for (at, byte) in rest.bytes().enumerate() {
            if escaped {
                escaped = false;
                continue;
            }
            match byte {
                b'\\' if in_text => escaped = true,
                b'"' => in_text = !in_text,
                _ if in_text => {}
                b'[' | b'{' | b'(' | b'<' => depth += 1,
                b')' if depth == 0 => {
                    arguments.push(rest[begin..at].trim());
                    let result = rest[at + 1..].trim_start().strip_prefix('=')?.trim();
                    return Some(Self {
                        name,
                        arguments,
                        result,
                    });
                }
                b']' | b'}' | b')' | b'>' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => {
                    arguments.push(rest[begin..at].trim());
                    begin = at + 1;
                }
                _ => {}
            }
        }
        None
    }

    fn argument(&self, nth: usize) -> &'line str {
        self.arguments.get(nth).copied().unwrap_or_default()
    }

    fn number(&self, nth: usize) -> usize {
        self.argument(nth).parse().unwrap_or_default()
    }
}

/// `5</folder/file>` as number and path.
fn descriptor(text: &str) -> (&str, &Path) {
    match text.split_once('<') {
        Some((number, path)) => (number, Path::new(path.strip_suffix('>').unwrap_or(path))),
        None => (text, Path::new("")),
    }
}

impl Reader<'_> {
    fn call(&mut self, pid: &str, line: &str) -> io::Result<()> {
        let Some(call) = Call::parse(line) else {
            return Ok(());
        };
        if call.result.starts_with('-') || call.result.starts_with('?') {
            return Ok(());
        }
        let process = self
            .processes
            .get(pid)
            .cloned()
            .unwrap_or_else(|| pid.to_owned());
        match call.name {
            "clone" | "clone3" if line.contains("CLONE_FILES") => {
                self.processes.insert(call.result.to_owned(), process);
            }
            "open" | "openat" | "creat" => self.open(process, &call),
            "write" => self.write(process, &call),
            "pwrite64" => {
                let data = unescape(call.argument(1));
                self.change(call.argument(0), |_| Some((call.number(3), data)));
            }
            "lseek" => {
                let (number, _) = descriptor(call.argument(0));
                let at = call.result.parse().unwrap_or_default();
                self.offsets.insert((process, number.to_owned()), at);
            }
            "ftruncate" => {
                if let Some(inode) = self.inode_of(call.argument(0)) {
                    self.set_length(inode, call.number(1));
                }
            }
            "fsync" | "fdatasync" => self.flush(call.argument(0)),
            "rename" => self.rename((call.argument(0), call.argument(1)), Some(call.argument(0))),
            "renameat" | "renameat2" => {
                self.rename((call.argument(1), call.argument(3)), Some(call.argument(1)));
            }
            "link" => self.rename((call.argument(0), call.argument(1)), None),
            "linkat" => self.rename((call.argument(1), call.argument(3)), None),
            "unlink" | "rmdir" => self.remove(call.argument(0)),
            "unlinkat" => self.remove(call.argument(1)),
            "mkdir" => self.make_folder(call.argument(0)),
            "mkdirat" => self.make_folder(call.argument(1)),
            "clone" | "clone3" => {}
            _ if line.contains(&*self.disk.folder.to_string_lossy()) => {
                let call: String = line.chars().take(200).collect();
                return Err(io::Error::other(format!("cannot repeat {call}")));
            }
            _ => {}
        }
        Ok(())
    }

    /// The file that a descriptor is open on, below the folder.
    fn inode_of(&self, text: &str) -> Option<Inode> {
        let (_, path) = descriptor(text);
        let name = self.disk.relative(path)?;
        self.names.get(&name).copied()
    }

    /// A path as an argument, which is absolute, or names something elsewhere.
    fn path(&self, text: &str) -> Option<PathBuf> {
        let path = String::from_utf8(unescape(text)).ok()?;
        self.disk.relative(Path::new(&path))
    }

    fn open(&mut self, process: String, call: &Call<'_>) {
        let (number, path) = descriptor(call.result);
        let Some(name) = self.disk.relative(path) else {
            return;
        };
        let flags = call
            .arguments
            .iter()
            .find(|flags| flags.contains("O_"))
            .copied();
        let flags = flags.unwrap_or_default();
        if flags.contains("O_DIRECTORY") || self.disk.folder.join(&name).is_dir() {
            return;
        }
        let key = (process, number.to_owned());
        self.offsets.insert(key.clone(), 0);
        self.appends.insert(key, flags.contains("O_APPEND"));
        match self.names.get(&name) {
            Some(inode) if flags.contains("O_TRUNC") => self.set_length(*inode, 0),
            Some(_) => {}
            None => {
                let inode = self.lengths.len();
                self.lengths.push(0);
                self.apply(vec![Rename::Name { path: name, inode }]);
            }
        }
    }

    fn write(&mut self, process: String, call: &Call<'_>) {
        let data = unescape(call.argument(1));
        let (number, path) = descriptor(call.argument(0));
        if number == "1" && self.disk.relative(path).is_none() {
            let text = String::from_utf8_lossy(&data).into_owned();
            self.disk.operations.push(Operation::Print(text));
            return;
        }
        let key = (process, number.to_owned());
        let appends = self.appends.get(&key).copied().unwrap_or_default();
        let offset = self.offsets.get(&key).copied().unwrap_or_default();
        let length = data.len();
        let mut end = 0;
        self.change(call.argument(0), |file_length| {
            let at = if appends { file_length } else { offset };
            end = at + length;
            Some((at, data))
        });
        self.offsets.insert(key, end);
    }

    /// Writes to an open file what `written` answers for its present length.
    fn change(&mut self, file: &str, written: impl FnOnce(usize) -> Option<(usize, Vec<u8>)>) {
        let Some(inode) = self.inode_of(file) else {
            return;
        };
        if let Some((at, data)) = written(self.lengths[inode]) {
            self.lengths[inode] = self.lengths[inode].max(at + data.len());
            let change = Change::Write { at, data };
            self.disk
                .operations
                .push(Operation::Change { inode, change });
        }
    }

    fn set_length(&mut self, inode: Inode, length: usize) {
        self.lengths[inode] = length;
        let change = Change::SetLength(length);
        self.disk
            .operations
            .push(Operation::Change { inode, change });
    }

    fn flush(&mut self, file: &str) {
        if let Some(inode) = self.inode_of(file) {
            self.disk.operations.push(Operation::Flush(inode));
        } else if self.disk.relative(descriptor(file).1).is_some() {
            self.disk.operations.push(Operation::FlushFolder);
        }
    }

    fn rename(&mut self, (from, to): (&str, &str), gone: Option<&str>) {
        let (from, to) = (self.path(from), self.path(to));
        let inode = from.as_ref().and_then(|from| self.names.get(from).copied());
        let (Some(inode), Some(to)) = (inode, to) else {
            return;
        };
        let mut all = vec![Rename::Name { path: to, inode }];
        if let (Some(_), Some(path)) = (gone, from) {
            all.push(Rename::Remove { path });
        }
        self.apply(all);
    }

    fn remove(&mut self, path: &str) {
        if let Some(path) = self.path(path) {
            self.apply(vec![Rename::Remove { path }]);
        }
    }

    fn make_folder(&mut self, path: &str) {
        if let Some(path) = self.path(path) {
            self.apply(vec![Rename::MakeFolder { path }]);
        }
    }

    fn apply(&mut self, all: Vec<Rename>) {
        apply_renames(&all, &mut self.names, &mut Vec::new());
        self.disk.operations.push(Operation::Rename(all));
    }
}

/// The bytes of a text as strace prints it.
fn unescape(text: &str) -> Vec<u8> {
    let text = text.strip_prefix('"').unwrap_or(text);
    let text = text.strip_suffix('"').unwrap_or(text).as_bytes();
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let escape = text.get(at).copied().unwrap_or(b'\\');
        at += 1;
        let plain = match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 11,
            b'f' => 12,
            b'0'..=b'7' => {
                // Three digits where another digit follows, else as few as it takes.
                let digits = text[at - 1..].iter().take(3);
                let digits = digits.take_while(|digit| (b'0'..=b'7').contains(*digit));
                at += digits.clone().count() - 1;
                let value = digits.fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
                u8::try_from(value).unwrap_or_default()
            }
            other => other,
        };
        bytes.push(plain);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"7 openat(AT_FDCWD</d>, "/d/a", O_WRONLY|O_CREAT, 0600) = 3</d/a>
7 write(3</d/a>, "one\0000\1772", 7 <unfinished ...>
8 write(1<pipe:[1]>, "ack 1\n", 6) = 6
7 <... write resumed>) = 7
7 write(3</d/a>, "!", 1) = 1
7 fdatasync(3</d/a>) = 0
7 rename("/d/a", "/d/b") = 0
7 fsync(4</d>) = 0
7 write(3</d/b>, "?", 1) = 1
"#;

    fn recorded() -> RecordedDisk {
        let mut disk = RecordedDisk {
            folder: PathBuf::from("/d"),
            begin: BTreeMap::new(),
            folders: Vec::new(),
            contents: Vec::new(),
            operations: Vec::new(),
        };
        disk.record(TRACE.as_bytes()).expect("all calls are known");
        disk
    }

    #[test]
    fn what_was_flushed_is_left_by_every_cut() {
        let disk = recorded();
        assert_eq!(disk.len(), 8);
        for seed in 0..50 {
            let left = disk.cut(7, Flushes::Work, seed);
            assert_eq!(left.read("b"), Some(&b"one\x000\x7f2!"[..]), "{seed}");
            assert_eq!((left.read("a"), left.printed.as_str()), (None, "ack 1\n"));
        }
    }

    #[test]
    fn what_was_not_flushed_is_lost_by_some_cuts_and_kept_by_others() {
        let disk = recorded();
        for (flushes, operations) in [(Flushes::Work, 3), (Flushes::Ignored, 7)] {
            let lefts = (0..50).map(|seed| disk.cut(operations, flushes, seed));
            let whole =
                lefts.filter(|left| left.files.values().any(|bytes| bytes.starts_with(b"one")));
            assert!((1..50).contains(&whole.count()), "{flushes:?}");
        }
    }
}
