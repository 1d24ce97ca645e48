//! What the command of a check runs: scripts, targets, tests.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::counting::has_countable_tests;
use super::shell::{ShellCommand, UNKNOWN, is_assignment, join_path, shell_commands};

/// A command within a command is looked into so deep.
const DEPTH_MAX: usize = 6;

/// What a check runs. Paths and folders are relative to the folder that the
/// check runs in, or absolute where the check names them so.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum CheckEntry {
    /// A script.
    Script {
        /// Its file.
        path: String,
    },
    /// A file that is given to a program which runs tests.
    TestFile {
        /// The file.
        path: String,
    },
    /// A target of a Makefile.
    MakeTarget {
        /// The folder of the Makefile; empty for that of the check.
        folder: String,
        /// The file, where the command names it.
        file: Option<String>,
        /// The target; the first one where the command names none.
        target: Option<String>,
    },
    /// A script of a package.json.
    PackageScript {
        /// The folder of the package.json; empty for that of the check.
        folder: String,
        /// The name of the script.
        script: String,
    },
    /// A recipe of a justfile.
    JustRecipe {
        /// The folder of the justfile; empty for that of the check.
        folder: String,
        /// The file, where the command names it.
        file: Option<String>,
        /// The recipe; the first one where the command names none.
        recipe: Option<String>,
    },
}

impl CheckEntry {
    /// The files that it may stand in; the first one that is there counts.
    #[must_use]
    pub fn candidate_files(&self) -> Vec<String> {
        let named = |folder: &str, file: Option<&String>, usual: &[&str]| match file {
            Some(file) => vec![join_path(folder, file)],
            None => usual.iter().map(|name| join_path(folder, name)).collect(),
        };
        match self {
            Self::Script { path } | Self::TestFile { path } => vec![path.clone()],
            Self::MakeTarget { folder, file, .. } => named(
                folder,
                file.as_ref(),
                &["GNUmakefile", "makefile", "Makefile"],
            ),
            Self::PackageScript { folder, .. } => vec![join_path(folder, "package.json")],
            Self::JustRecipe { folder, file, .. } => named(
                folder,
                file.as_ref(),
                &["justfile", "Justfile", ".justfile"],
            ),
        }
    }

    /// What a person would call it: the path, the target, the name of the script.
    fn name(&self) -> &str {
        match self {
            Self::Script { path } | Self::TestFile { path } => path,
            Self::MakeTarget { target, .. } => target.as_deref().unwrap_or_default(),
            Self::PackageScript { script, .. } => script,
            Self::JustRecipe { recipe, .. } => recipe.as_deref().unwrap_or_default(),
        }
    }

    /// Whether its name marks it as a check.
    fn is_named_as_check(&self) -> bool {
        let name = self.name().to_lowercase();
        CHECK_WORDS.iter().any(|word| name.contains(word))
            || name
                .split(|c: char| !c.is_alphanumeric())
                .any(|part| part == "ci")
    }
}

/// What the names of checks have in them.
const CHECK_WORDS: &[&str] = &[
    "check", "test", "spec", "verif", "valid", "lint", "gate", "accept", "assert", "e2e", "smoke",
];

impl fmt::Display for CheckEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script { path } | Self::TestFile { path } => f.write_str(path),
            Self::MakeTarget {
                folder,
                file,
                target,
            } => {
                let file = join_path(folder, file.as_deref().unwrap_or("Makefile"));
                match target {
                    Some(target) => write!(f, "target `{target}` of {file}"),
                    None => write!(f, "the first target of {file}"),
                }
            }
            Self::PackageScript { folder, script } => {
                write!(
                    f,
                    "script `{script}` of {}",
                    join_path(folder, "package.json")
                )
            }
            Self::JustRecipe {
                folder,
                file,
                recipe,
            } => {
                let file = join_path(folder, file.as_deref().unwrap_or("justfile"));
                match recipe {
                    Some(recipe) => write!(f, "recipe `{recipe}` of {file}"),
                    None => write!(f, "the first recipe of {file}"),
                }
            }
        }
    }
}

/// What a shell command that is run in a folder runs, each once, in order.
///
/// What only feeds another command (`python3 app.py | grep -q ok`) is taken to
/// be what is checked, and left out, unless its name is that of a check.
pub(super) fn entries_of_command(command: &str, folder: &str) -> Vec<CheckEntry> {
    let mut found = CheckEntryFinder::default();
    found.visit_script(command, folder);
    found.entries
}

/// Collects entries.
#[derive(Default)]
struct CheckEntryFinder {
    entries: Vec<CheckEntry>,
    depth: usize,
}

/// The arguments of a command, and the folder it runs in.
#[derive(Clone, Copy)]
struct CommandArguments<'a> {
    words: &'a [String],
    folder: &'a str,
    is_captured: bool,
}

impl<'a> CommandArguments<'a> {
    fn skip_words(self, index: usize) -> Self {
        Self {
            words: self.words.get(index..).unwrap_or_default(),
            ..self
        }
    }

    /// The value of the first of these options that is there.
    fn option_value(self, names: &[&str]) -> Option<&'a str> {
        let own = self.words.iter().take_while(|word| *word != "--");
        let at = own.enumerate().find_map(|(at, word)| {
            let (name, inline) = split_option(word);
            names.contains(&name).then_some((at, inline))
        });
        let (at, inline) = at?;
        inline.or_else(|| self.words.get(at + 1).map(String::as_str))
    }

    /// Where the first word stands that is neither an option nor the value of one.
    fn operand_position(self, with_value: &[&str]) -> Option<usize> {
        let mut at = 0;
        while let Some(word) = self.words.get(at) {
            let (name, inline) = split_option(word);
            if word == "--" {
                return (at + 1 < self.words.len()).then_some(at + 1);
            }
            if !word.starts_with('-') || word == "-" {
                return Some(at);
            }
            at += if inline.is_none() && with_value.contains(&name) {
                2
            } else {
                1
            };
        }
        None
    }
}

/// The name of an option, and the value that is written behind a `=`.
fn split_option(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((name, value)) if word.starts_with("--") => (name, Some(value)),
        Some(_) | None => (word, None),
    }
}

/// A program that runs another one.
struct Wrapper {
    names: &'static [&'static str],
    /// The word that must follow, where it only then runs another program.
    verb: &'static [&'static str],
    /// Options that have a value.
    with_value: &'static [&'static str],
    /// How many operands stand before the other program.
    operands: usize,
}

const WRAPPER: Wrapper = Wrapper {
    names: &[],
    verb: &[],
    with_value: &[],
    operands: 0,
};

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &[
            "nohup",
            "exec",
            "setsid",
            "unbuffer",
            "chronic",
            "caffeinate",
            "nyc",
            "c8",
            "cross-env",
            "dotenv",
            "bunx",
            "builtin",
            "doas",
            "catchsegv",
            "winpty",
        ],
        ..WRAPPER
    },
    Wrapper {
        names: &["env"],
        with_value: &["-u", "--unset", "-C", "--chdir"],
        ..WRAPPER
    },
    Wrapper {
        names: &["timeout", "gtimeout"],
        with_value: &["-k", "--kill-after", "-s", "--signal"],
        operands: 1,
        ..WRAPPER
    },
    Wrapper {
        names: &["nice", "ionice", "chrt", "taskset"],
        with_value: &["-n", "--adjustment", "-c", "--class"],
        ..WRAPPER
    },
    Wrapper {
        names: &["time"],
        with_value: &["-f", "--format", "-o", "--output"],
        ..WRAPPER
    },
    Wrapper {
        names: &["sudo"],
        with_value: &["-u", "--user", "-g", "--group"],
        ..WRAPPER
    },
    Wrapper {
        names: &["stdbuf"],
        with_value: &["-i", "-o", "-e"],
        ..WRAPPER
    },
    Wrapper {
        names: &["xvfb-run"],
        with_value: &["-s", "--server-args", "-n", "--server-num"],
        ..WRAPPER
    },
    Wrapper {
        names: &["npx", "pnpx"],
        with_value: &["-p", "--package"],
        ..WRAPPER
    },
    Wrapper {
        names: &["npm", "bun"],
        verb: &["exec", "x"],
        with_value: &["-p", "--package", "-w", "--workspace"],
        ..WRAPPER
    },
    Wrapper {
        names: &["pnpm", "yarn"],
        verb: &["exec", "dlx"],
        with_value: &["-p", "--package", "-C", "--dir"],
        ..WRAPPER
    },
    Wrapper {
        names: &[
            "uv",
            "poetry",
            "pipenv",
            "pdm",
            "rye",
            "hatch",
            "pixi",
            "conda",
            "micromamba",
        ],
        verb: &["run"],
        with_value: &[
            "--with",
            "-p",
            "--python",
            "--group",
            "--extra",
            "--project",
            "--directory",
            "-n",
            "-e",
            "--env",
        ],
        ..WRAPPER
    },
    Wrapper {
        names: &["bundle", "mise", "opam", "rbenv", "pyenv"],
        verb: &["exec"],
        ..WRAPPER
    },
    Wrapper {
        names: &["direnv"],
        verb: &["exec"],
        operands: 1,
        ..WRAPPER
    },
];

/// Shells: what they are given is a script, whatever it is called.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox"];

/// Programs that run a file of their language: options that have a value, and
/// options whose value is the program, so that no file is run.
struct Interpreter {
    names: &'static [&'static str],
    with_value: &'static [&'static str],
    inline: &'static [&'static str],
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["python", "pypy", "py"],
        with_value: &["-W", "-X"],
        inline: &["-c"],
    },
    Interpreter {
        names: &["node", "tsx", "ts-node", "nodejs"],
        with_value: &[
            "-r",
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "-P",
            "--project",
        ],
        inline: &["-e", "--eval", "-p", "--print"],
    },
    Interpreter {
        names: &["ruby"],
        with_value: &["-I", "-r"],
        inline: &["-e"],
    },
    Interpreter {
        names: &["perl"],
        with_value: &["-I"],
        inline: &["-e", "-E"],
    },
    Interpreter {
        names: &["php"],
        with_value: &["-d", "-c"],
        inline: &["-r"],
    },
    Interpreter {
        names: &["pwsh", "powershell"],
        with_value: &["-ExecutionPolicy"],
        inline: &["-Command", "-c"],
    },
    Interpreter {
        names: &[
            "lua",
            "luajit",
            "Rscript",
            "julia",
            "elixir",
            "groovy",
            "osascript",
            "tclsh",
        ],
        with_value: &[],
        inline: &["-e"],
    },
];

/// Programs that run tests, and the word that must follow where they also do
/// something else.
const RUNNERS: &[(&str, &str)] = &[
    ("pytest", ""),
    ("py.test", ""),
    ("unittest", ""),
    ("nose2", ""),
    ("trial", ""),
    ("behave", ""),
    ("robot", ""),
    ("bats", ""),
    ("shellspec", ""),
    ("shunit2", ""),
    ("prove", ""),
    ("jest", ""),
    ("vitest", ""),
    ("mocha", ""),
    ("ava", ""),
    ("tap", ""),
    ("tape", ""),
    ("uvu", ""),
    ("jasmine", ""),
    ("cypress", "run"),
    ("playwright", "test"),
    ("cucumber", ""),
    ("cucumber-js", ""),
    ("rspec", ""),
    ("minitest", ""),
    ("rails", "test"),
    ("phpunit", ""),
    ("pest", ""),
    ("codecept", "run"),
    ("busted", ""),
    ("go", "test"),
    ("ginkgo", ""),
    ("deno", "test"),
    ("bun", "test"),
    ("mix", "test"),
    ("dart", "test"),
    ("flutter", "test"),
    ("zig", "test"),
    ("hurl", ""),
    ("newman", "run"),
];

impl CheckEntryFinder {
    fn visit_script(&mut self, script: &str, folder: &str) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        self.depth += 1;
        for command in shell_commands(script, folder) {
            let ShellCommand {
                words,
                folder,
                is_captured,
            } = &command;
            self.visit_command(CommandArguments {
                words,
                folder,
                is_captured: *is_captured,
            });
        }
        self.depth -= 1;
    }

    fn add_entry(&mut self, entry: CheckEntry, is_captured: bool) {
        let decides = !is_captured || entry.is_named_as_check();
        if decides && !self.entries.contains(&entry) {
            self.entries.push(entry);
        }
    }

    fn add_script(&mut self, word: &str, all: CommandArguments<'_>) {
        let path = join_path(all.folder, word);
        if !path.is_empty() {
            self.add_entry(CheckEntry::Script { path }, all.is_captured);
        }
    }

    /// Looks at a program, its first word, with its arguments.
    fn visit_command(&mut self, all: CommandArguments<'_>) {
        let Some(program) = all.words.first() else {
            return;
        };
        let arguments = all.skip_words(1);
        let name = program.rsplit('/').next().unwrap_or(program);
        if program.contains('/') {
            self.add_script(program, all);
        }
        if let Some(rest) = wrapped_command(name, arguments) {
            return self.visit_command(rest);
        }
        if self.visit_if_test_runner(name, arguments) {
            return;
        }
        match name {
            "command" => self.visit_command_builtin(arguments),
            "eval" => self.visit_nested_script(&arguments.words.join(" "), arguments),
            "source" | "." => self.add_first_file(arguments, &[], ScriptFilter::All),
            "make" | "gmake" | "bmake" => self.visit_make(arguments),
            "npm" | "pnpm" | "yarn" | "bun" => self.visit_package_script(name, arguments),
            "just" => self.visit_just(arguments),
            "go" | "deno" => self.visit_run_verb(arguments),
            "coverage" => self.visit_coverage(arguments),
            _ if SHELLS.contains(&name) => self.visit_shell(arguments),
            _ => self.visit_interpreter(name, arguments),
        }
    }

    /// `command -v x` only asks where `x` is.
    fn visit_command_builtin(&mut self, arguments: CommandArguments<'_>) {
        if arguments
            .words
            .first()
            .is_some_and(|word| !word.starts_with('-'))
        {
            self.visit_command(arguments);
        }
    }

    fn visit_coverage(&mut self, arguments: CommandArguments<'_>) {
        if arguments.words.first().is_some_and(|verb| verb == "run") {
            self.visit_interpreter("python", arguments.skip_words(1));
        }
    }

    /// A script that stands in an argument.
    fn visit_nested_script(&mut self, script: &str, arguments: CommandArguments<'_>) {
        let mut inner = Self {
            entries: Vec::new(),
            depth: self.depth,
        };
        inner.visit_script(script, arguments.folder);
        for entry in inner.entries {
            self.add_entry(entry, arguments.is_captured);
        }
    }

    fn visit_shell(&mut self, arguments: CommandArguments<'_>) {
        let mut at = 0;
        let mut is_inline = false;
        while let Some(word) = arguments
            .words
            .get(at)
            .filter(|word| word.starts_with(['-', '+']))
        {
            let is_long = word.starts_with("--");
            is_inline |= !is_long && word.contains('c');
            let has_value = match is_long {
                true => word == "--rcfile" || word == "--init-file",
                false => word.ends_with(['o', 'O']),
            };
            at += if has_value { 2 } else { 1 };
        }
        let Some(operand) = arguments.words.get(at) else {
            return;
        };
        if is_inline {
            self.visit_nested_script(operand, arguments);
        } else if SHELLS.contains(&operand.as_str()) {
            // `busybox sh x`
            self.visit_shell(arguments.skip_words(at + 1));
        } else {
            self.add_script(operand, arguments);
        }
    }

    fn visit_interpreter(&mut self, name: &str, arguments: CommandArguments<'_>) {
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let known = INTERPRETERS.iter().find(|one| one.names.contains(&plain));
        let Some(one) = known else {
            // A variable that names the program, such as `$PYTHON`.
            if name.contains(UNKNOWN) {
                self.add_first_file(arguments, &[], ScriptFilter::AllButTests);
            }
            return;
        };
        let end = arguments
            .operand_position(one.with_value)
            .unwrap_or(arguments.words.len());
        let options = &arguments.words[..end];
        if options
            .iter()
            .any(|word| one.inline.contains(&word.as_str()))
        {
            return;
        }
        if options.iter().any(|word| word == "--test") {
            return self.add_test_files(arguments);
        }
        // The value of `-m` is the first operand.
        if plain != "node" && options.last().is_some_and(|word| word == "-m") {
            return self.visit_python_module(arguments.skip_words(end));
        }
        self.add_first_file(arguments, one.with_value, ScriptFilter::AllButTests);
    }

    /// What `python -m` is given.
    fn visit_python_module(&mut self, arguments: CommandArguments<'_>) {
        let Some(module) = arguments.words.first() else {
            return;
        };
        if module == "coverage" {
            self.visit_coverage(arguments.skip_words(1));
        } else if !self.visit_if_test_runner(module, arguments.skip_words(1)) {
            let path = format!("{}.py", module.replace('.', "/"));
            self.add_script(&path, arguments);
        }
    }

    /// What `run` is given where a file is: `go run check.go`.
    fn visit_run_verb(&mut self, arguments: CommandArguments<'_>) {
        if arguments.words.first().is_some_and(|verb| verb == "run") {
            let rest = arguments.skip_words(1);
            let is_file = rest
                .operand_position(&[])
                .is_some_and(|at| is_file_path(&rest.words[at]));
            if is_file {
                self.add_first_file(rest, &[], ScriptFilter::AllButTests);
            }
        }
    }

    /// The first operand, which is a script or a file with tests.
    fn add_first_file(
        &mut self,
        arguments: CommandArguments<'_>,
        with_value: &[&str],
        scripts: ScriptFilter,
    ) {
        let Some(at) = arguments.operand_position(with_value) else {
            return;
        };
        let word = &arguments.words[at];
        match scripts {
            ScriptFilter::AllButTests if is_named_as_tests(word) => {
                self.add_test_file(word, arguments);
            }
            ScriptFilter::All | ScriptFilter::AllButTests => self.add_script(word, arguments),
        }
    }

    fn add_test_file(&mut self, word: &str, arguments: CommandArguments<'_>) {
        let path = join_path(arguments.folder, word);
        self.add_entry(CheckEntry::TestFile { path }, arguments.is_captured);
    }

    /// Whether it is a program that runs tests; the files that it is given.
    fn visit_if_test_runner(&mut self, name: &str, arguments: CommandArguments<'_>) -> bool {
        let verb = arguments.words.first().map_or("", String::as_str);
        let runs = |(runner, needs): &(&str, &str)| {
            *runner == name && (needs.is_empty() || *needs == verb)
        };
        let is_one = RUNNERS.iter().any(runs);
        if is_one {
            self.add_test_files(arguments);
        }
        is_one
    }

    fn add_test_files(&mut self, arguments: CommandArguments<'_>) {
        let mut before = "";
        for word in arguments.words {
            // `a.py::test_b`, `a_spec.rb:12`
            let path = word.split(':').next().unwrap_or(word);
            let may_be_value = before.starts_with('-') && !has_countable_tests(path);
            if is_file_path(path) && !may_be_value {
                self.add_test_file(path, arguments);
            }
            before = word;
        }
    }

    fn visit_make(&mut self, arguments: CommandArguments<'_>) {
        let folder = arguments.option_value(&["-C", "--directory"]);
        let folder = join_path(arguments.folder, folder.unwrap_or_default());
        let file = arguments.option_value(&["-f", "--file", "--makefile"]);
        let with_value = [
            "-C",
            "--directory",
            "-f",
            "--file",
            "--makefile",
            "-I",
            "--include-dir",
            "-o",
            "-W",
        ];
        let mut targets: Vec<&String> = Vec::new();
        let mut rest = arguments;
        while let Some(at) = rest.operand_position(&with_value) {
            let word = &rest.words[at];
            let is_number = word.chars().all(|c| c.is_ascii_digit());
            if !is_assignment(word) && !is_number && !word.contains(UNKNOWN) {
                targets.push(word);
            }
            rest = rest.skip_words(at + 1);
        }
        let entry = |target: Option<String>| CheckEntry::MakeTarget {
            folder: folder.clone(),
            file: file.map(str::to_owned),
            target,
        };
        if targets.is_empty() {
            self.add_entry(entry(None), arguments.is_captured);
        }
        for target in targets {
            self.add_entry(entry(Some(target.clone())), arguments.is_captured);
        }
    }

    fn visit_package_script(&mut self, tool: &str, arguments: CommandArguments<'_>) {
        let folders = ["--prefix", "-C", "--dir", "--cwd", "-w", "--workspace"];
        let folder = join_path(
            arguments.folder,
            arguments.option_value(&folders).unwrap_or_default(),
        );
        let with_value = [&folders[..], &["--filter", "-F"]].concat();
        let Some(at) = arguments.operand_position(&with_value) else {
            return;
        };
        let rest = arguments.skip_words(at);
        let script = match rest.words[0].as_str() {
            "run" | "run-script" => {
                let after = rest.skip_words(1);
                after
                    .operand_position(&with_value)
                    .map(|at| after.words[at].as_str())
            }
            "t" | "tst" if tool == "npm" => Some("test"),
            verb if tool != "npm" || NPM_SCRIPTS.contains(&verb) => {
                // `yarn jest x` runs a program of the package.
                self.visit_command(rest);
                Some(verb)
            }
            _ => None,
        };
        match script {
            Some(file) if tool == "bun" && is_file_path(file) => self.add_script(file, arguments),
            Some(script) => {
                let script = script.to_owned();
                let entry = CheckEntry::PackageScript { folder, script };
                self.add_entry(entry, arguments.is_captured);
            }
            None => {}
        }
    }

    fn visit_just(&mut self, arguments: CommandArguments<'_>) {
        let file = arguments.option_value(&["-f", "--justfile"]);
        let folder = arguments.option_value(&["-d", "--working-directory"]);
        // The file is not looked for in the working directory.
        let folder = folder.filter(|_| file.is_none()).unwrap_or_default();
        let folder = join_path(arguments.folder, folder);
        let with_value = [
            "-f",
            "--justfile",
            "-d",
            "--working-directory",
            "--shell",
            "--set",
        ];
        let entry = |recipe: Option<String>| CheckEntry::JustRecipe {
            folder: folder.clone(),
            file: file.map(str::to_owned),
            recipe,
        };
        let mut rest = arguments;
        let mut named = false;
        while let Some(at) = rest.operand_position(&with_value) {
            let word = &rest.words[at];
            if !is_assignment(word) && !word.contains(UNKNOWN) {
                named = true;
                self.add_entry(entry(Some(word.clone())), arguments.is_captured);
            }
            rest = rest.skip_words(at + 1);
        }
        if !named {
            self.add_entry(entry(None), arguments.is_captured);
        }
    }
}

/// Scripts of a package.json that `npm` runs without `run`.
const NPM_SCRIPTS: &[&str] = &["test", "start", "stop", "restart"];

/// Which files that a program runs are scripts.
#[derive(Clone, Copy)]
enum ScriptFilter {
    All,
    AllButTests,
}

/// What a wrapper runs.
fn wrapped_command<'a>(
    name: &str,
    arguments: CommandArguments<'a>,
) -> Option<CommandArguments<'a>> {
    let verb = arguments.words.first().map_or("", String::as_str);
    let wraps = |one: &&Wrapper| {
        one.names.contains(&name) && (one.verb.is_empty() || one.verb.contains(&verb))
    };
    let wrapper = WRAPPERS.iter().find(wraps)?;
    let mut rest = arguments.skip_words(usize::from(!wrapper.verb.is_empty()));
    for _ in 0..wrapper.operands {
        rest = rest.skip_words(rest.operand_position(wrapper.with_value)? + 1);
    }
    loop {
        rest = rest.skip_words(rest.operand_position(wrapper.with_value)?);
        if !is_assignment(&rest.words[0]) {
            return Some(rest);
        }
        rest = rest.skip_words(1);
    }
}

/// Whether a word looks like the path of one file.
fn is_file_path(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let looks = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        let plain = extension.chars().all(|c| c.is_ascii_alphanumeric());
        !stem.is_empty() && !extension.is_empty() && plain
    });
    looks && !word.starts_with('-') && !word.contains(['*', '?', '[', '{', UNKNOWN])
}

/// Whether the name of a file is such as tests have.
fn is_named_as_tests(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    let ends = [
        "_test", "-test", ".test", "_spec", "-spec", ".spec", "Test", "Tests", "Spec",
    ];
    let begins = ["test_", "test-"];
    extension == "t"
        || ends.iter().any(|end| stem.ends_with(end))
        || begins.iter().any(|begin| stem.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use piton_simkit::seed::cases;
    use proptest::prelude::*;

    use super::*;

    /// What a command runs, as it is displayed; tests begin with `tests in `.
    #[track_caller]
    fn check(command: &str, expect: &[&str]) {
        let entries = entries_of_command(command, "");
        let shown: Vec<String> = entries
            .iter()
            .map(|entry| match entry {
                CheckEntry::TestFile { path } => format!("tests in {path}"),
                CheckEntry::Script { .. }
                | CheckEntry::MakeTarget { .. }
                | CheckEntry::PackageScript { .. }
                | CheckEntry::JustRecipe { .. } => entry.to_string(),
            })
            .collect();
        assert_eq!(shown, expect, "{command}");
    }

    #[test]
    fn a_script_is_its_file() {
        for command in [
            "sh check.sh",
            "bash -e check.sh",
            "bash -eo pipefail check.sh -v",
            "./check.sh arg",
            "cd . && ./check.sh",
            ". ./check.sh",
            "source check.sh",
            "CI=1 sh check.sh",
            "timeout 60 sh check.sh",
            "timeout -k 5 60s ./check.sh",
            "env -i X=1 Y=2 sh check.sh",
            "nice -n 5 sh check.sh",
            "time sh check.sh",
            "exec sh 'check.sh'",
            "sh -c 'set -e; sh check.sh'",
            "bash -lc \"sh check.sh\"",
            "eval \"sh check.sh\"",
            "( sh check.sh )",
            "if sh check.sh; then echo ok; fi",
            "! sh check.sh",
            "sh \"$PWD/check.sh\"",
            "sh \"$ROOT\"/check.sh",
            "sh \"$(git rev-parse --show-toplevel)/check.sh\"",
            "sh check.sh > /dev/null 2>&1",
            "busybox sh check.sh",
            "test -f done && sh check.sh || exit 1",
            "(\nsh check.sh\n) || exit\n(\ntrue\n) || exit\n",
        ] {
            check(command, &["check.sh"]);
        }
        check("bash -e scripts/test", &["scripts/test"]);
        check("python3 tools/check.py --all", &["tools/check.py"]);
        check("python3.12 -W error tools/check.py", &["tools/check.py"]);
        check("python -m tools.check", &["tools/check.py"]);
        check("node check.js", &["check.js"]);
        check("node --require ./a.js check.js", &["check.js"]);
        check("npx tsx check.ts", &["check.ts"]);
        check("deno run -A check.ts", &["check.ts"]);
        check("bun run check.ts", &["check.ts"]);
        check("go run ./tools/check.go", &["tools/check.go"]);
        check("uv run python check.py", &["check.py"]);
        check("$PYTHON check.py", &["check.py"]);
        check("cd a && sh check.sh; sh b.sh", &["a/check.sh", "a/b.sh"]);
        check("(cd a && sh check.sh); sh b.sh", &["a/check.sh", "b.sh"]);
        check("cd a; sh ../check.sh", &["check.sh"]);
        check("/usr/local/bin/check", &["/usr/local/bin/check"]);
    }

    #[test]
    fn what_is_no_file_of_the_project_is_no_entry() {
        for command in [
            "cargo test",
            "cargo xtask test",
            "cargo nextest run -p x",
            "go test ./...",
            "pytest",
            "npm ci",
            "npm install",
            "test -f never",
            "[ -f x ]",
            "grep -q x README.md",
            "python3 -c 'import x'",
            "node -e 'x'",
            "true",
            "command -v make",
            "",
            "sh",
            "echo sh check.sh",
            "echo 'make test'",
            "# sh check.sh",
            "mvn test",
        ] {
            check(command, &[]);
        }
    }

    #[test]
    fn what_feeds_another_command_is_checked_and_no_check() {
        check("python3 app.py | grep -q ok", &[]);
        check("[ \"$(node app.js)\" = ok ]", &[]);
        check("sh run.sh > out && diff out want", &[]);
        check("node server.js & sh check.sh", &["check.sh"]);
        check("make run | diff - want", &[]);
        check("python3 app.py", &["app.py"]);
        // By its name it is one.
        check("sh check.sh 2>&1 | tail -20", &["check.sh"]);
        check("sh ci/run.sh | tee log", &["ci/run.sh"]);
        check("make test | tee log", &["target `test` of Makefile"]);
        check("out=$(sh -c './verify') && echo", &["verify"]);
        check("set -o pipefail; sh run.sh | tee log", &["run.sh"]);
    }

    #[test]
    fn make_runs_targets() {
        check("make", &["the first target of Makefile"]);
        check("make -j4 test", &["target `test` of Makefile"]);
        check("make -j 4 test", &["target `test` of Makefile"]);
        check("CI=1 make V=1 test", &["target `test` of Makefile"]);
        let two = ["target `test` of a/Makefile", "target `lint` of a/Makefile"];
        check("make -C a test lint", &two);
        check("make --directory=a test lint", &two);
        check("cd a && make test && make lint", &two);
        check("make -f ci.mk test", &["target `test` of ci.mk"]);
        let made = entries_of_command("make test", "").remove(0);
        assert_eq!(
            made.candidate_files(),
            ["GNUmakefile", "makefile", "Makefile"]
        );
        let made = entries_of_command("make -C a -f b.mk x", "").remove(0);
        assert_eq!(made.candidate_files(), ["a/b.mk"]);
    }

    #[test]
    fn package_managers_run_scripts() {
        for command in [
            "npm test",
            "npm t",
            "npm run test",
            "npm run --silent test -- --ci",
            "npm run-script test",
            "yarn test",
            "yarn run test",
            "pnpm test",
            "pnpm -r test",
            "pnpm run test",
            "bun run test",
        ] {
            check(command, &["script `test` of package.json"]);
        }
        check("npm --prefix a run x", &["script `x` of a/package.json"]);
        check("npm run x -w a/b", &["script `x` of a/b/package.json"]);
        check("npm run x -- -w a/b", &["script `x` of package.json"]);
        check("npm -w a/b run x", &["script `x` of a/b/package.json"]);
        check("cd a && npm run x", &["script `x` of a/package.json"]);
        check(
            "yarn jest a.test.js",
            &["tests in a.test.js", "script `jest` of package.json"],
        );
    }

    #[test]
    fn just_runs_recipes() {
        check("just", &["the first recipe of justfile"]);
        check("just test", &["recipe `test` of justfile"]);
        check("just -f ci.just a=1 test", &["recipe `test` of ci.just"]);
        check("cd a && just test", &["recipe `test` of a/justfile"]);
    }

    #[test]
    fn files_that_a_runner_is_given_are_tests() {
        for (command, expect) in [
            ("pytest -v tests/test_x.py", "tests in tests/test_x.py"),
            ("pytest tests/test_x.py::test_a", "tests in tests/test_x.py"),
            ("python -m pytest test_x.py", "tests in test_x.py"),
            ("python3 -m unittest test_x.py", "tests in test_x.py"),
            ("python3 test_x.py", "tests in test_x.py"),
            ("coverage run -m pytest x.py", "tests in x.py"),
            ("go test ./x_test.go", "tests in x_test.go"),
            ("bats x.bats", "tests in x.bats"),
            ("node --test x.test.js", "tests in x.test.js"),
            ("node x.test.mjs", "tests in x.test.mjs"),
            ("npx jest x.js", "tests in x.js"),
            ("npx --yes vitest run x.ts", "tests in x.ts"),
            ("./node_modules/.bin/mocha x.js", "tests in x.js"),
            ("bundle exec rspec x_spec.rb:12", "tests in x_spec.rb"),
            ("ruby -Itest test/x_test.rb", "tests in test/x_test.rb"),
            ("poetry run pytest x.py", "tests in x.py"),
            ("deno test x.ts", "tests in x.ts"),
            ("robot tests/login.robot", "tests in tests/login.robot"),
            ("cd a && prove t/x.t", "tests in a/t/x.t"),
        ] {
            let entries = entries_of_command(command, "");
            let tests: Vec<String> = entries
                .iter()
                .filter(|entry| matches!(entry, CheckEntry::TestFile { .. }))
                .map(|entry| format!("tests in {entry}"))
                .collect();
            assert_eq!(tests, [expect], "{command}");
        }
        check("pytest --junitxml out.xml tests", &[]);
        check("sh tests/test_x.sh", &["tests/test_x.sh"]);
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn finding_never_panics_on_any_command(
            command in "(sh |make |npm |run |just |python |-m |-C |env |timeout |-- |-|a\\.b |x |[(){}<>;&|$'\"`\\\\#\n]|\\PC){0,40}",
        ) {
            for entry in entries_of_command(&command, "") {
                prop_assert!(!entry.candidate_files().is_empty());
                prop_assert!(!entry.to_string().is_empty());
            }
        }
    }
}
