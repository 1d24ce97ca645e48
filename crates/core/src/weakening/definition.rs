//! The part of a file that an entry of a check is, and what that part runs.

use serde_json::Value;

use super::counting::count_tests;
use super::entry::{CheckEntry, entries_of_command};

/// Most entries that the checks of an item are taken to have.
const ENTRIES_MAX: usize = 64;
/// Entries that entries run are followed so far.
const DEPTH_MAX: usize = 4;
/// Most targets or recipes that one stands for.
const NAMES_MAX: usize = 64;

/// The part of a file that an entry is: all of a script, a target with its
/// recipe, a script of a package.json with those that npm runs before and after
/// it. None where it is not there.
///
/// A file that is given to a runner is counted, not compared, unless nothing in
/// it looks like a test: then it is a script.
pub fn entry_text(
    entry: &CheckEntry,
    text_of_file: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    definition_of_entry(entry, text_of_file).map(|found| found.text)
}

/// What the checks run, and what of that runs by itself: scripts in the recipe
/// of a target, scripts that a script of a package.json names. Each once.
#[must_use]
pub fn follow_check_entries(
    commands: &[String],
    text_of_file: &dyn Fn(&str) -> Option<String>,
) -> Vec<CheckEntry> {
    let mut entries: Vec<CheckEntry> = Vec::new();
    let mut add = |found: Vec<CheckEntry>| {
        let mut new = Vec::new();
        for entry in found {
            if entries.len() < ENTRIES_MAX && !entries.contains(&entry) {
                entries.push(entry.clone());
                new.push(entry);
            }
        }
        new
    };
    let named = commands
        .iter()
        .flat_map(|command| entries_of_command(command, ""));
    let mut last = add(named.collect());
    for _ in 0..DEPTH_MAX {
        let below = last
            .iter()
            .flat_map(|entry| nested_entries(entry, text_of_file));
        last = add(below.collect());
    }
    entries
}

/// What an entry itself runs.
fn nested_entries(
    entry: &CheckEntry,
    text_of_file: &dyn Fn(&str) -> Option<String>,
) -> Vec<CheckEntry> {
    let folder = match entry {
        CheckEntry::MakeTarget { folder, .. }
        | CheckEntry::PackageScript { folder, .. }
        | CheckEntry::JustRecipe { folder, .. } => folder,
        // A script that runs others is one of them for those who wrote it.
        CheckEntry::Script { .. } | CheckEntry::TestFile { .. } => return Vec::new(),
    };
    let commands = definition_of_entry(entry, text_of_file).map(|found| found.commands);
    let commands = commands.unwrap_or_default();
    let below = commands
        .iter()
        .flat_map(|command| entries_of_command(command, folder));
    below.collect()
}

/// What an entry is in its file.
#[derive(Debug, Default, PartialEq, Eq)]
struct EntryDefinition {
    text: String,
    /// The shell commands that it runs, each in a shell of its own.
    commands: Vec<String>,
}

fn definition_of_entry(
    entry: &CheckEntry,
    text_of_file: &dyn Fn(&str) -> Option<String>,
) -> Option<EntryDefinition> {
    let files = entry.candidate_files();
    let (file, text) = files
        .iter()
        .find_map(|file| Some((file, text_of_file(file)?)))?;
    match entry {
        CheckEntry::Script { .. } => Some(definition_of_file(text)),
        CheckEntry::TestFile { .. } => {
            let has_tests = count_tests(file, &text).definitions > 0;
            (!has_tests).then(|| definition_of_file(text))
        }
        CheckEntry::MakeTarget { target, .. } => parse_make_target(&text, target.as_deref()),
        CheckEntry::PackageScript { script, .. } => parse_package_script(&text, script),
        CheckEntry::JustRecipe { recipe, .. } => parse_just_recipe(&text, recipe.as_deref()),
    }
}

fn definition_of_file(text: String) -> EntryDefinition {
    EntryDefinition {
        text,
        commands: Vec::new(),
    }
}

/// A rule of a Makefile or a recipe of a justfile.
#[derive(Debug, Default)]
struct BuildRule<'a> {
    names: Vec<&'a str>,
    /// What it needs first.
    needs: Vec<&'a str>,
    /// All of its lines.
    lines: Vec<&'a str>,
    /// The lines that it runs.
    recipe: Vec<&'a str>,
}

/// The rules of a name, and of those that it only stands for: where nothing is
/// run for it but for what it needs (`check: lint unit`), those are the check.
fn rules_of_name<'a, 'b>(rules: &'b [BuildRule<'a>], name: &'b str) -> Vec<&'b BuildRule<'a>> {
    let mut names = vec![name];
    let mut found: Vec<&BuildRule<'_>> = Vec::new();
    let mut at = 0;
    while let Some(name) = names.get(at).copied() {
        at += 1;
        let exact = rules.iter().filter(|rule| rule.names.contains(&name));
        let mut own: Vec<&BuildRule<'_>> = exact.collect();
        if own.is_empty() {
            own.extend(
                rules
                    .iter()
                    .find(|rule| rule.names.iter().any(|form| is_pattern_match(form, name))),
            );
        }
        if own.iter().all(|rule| rule.recipe.is_empty()) {
            for need in own.iter().flat_map(|rule| &rule.needs) {
                if names.len() < NAMES_MAX && !names.contains(need) {
                    names.push(need);
                }
            }
        }
        found.extend(own);
    }
    found
}

/// Whether a pattern such as `test-%` fits a name.
fn is_pattern_match(form: &str, name: &str) -> bool {
    form.split_once('%').is_some_and(|(begin, end)| {
        let rest = name.strip_prefix(begin);
        rest.is_some_and(|rest| rest.len() > end.len() && rest.ends_with(end))
    })
}

fn join_lines(rules: &[&BuildRule<'_>]) -> String {
    let lines = rules.iter().flat_map(|rule| &rule.lines);
    lines.copied().collect::<Vec<_>>().join("\n")
}

/// The rules of a target, or of the first one that is none of make's own.
fn parse_make_target(text: &str, target: Option<&str>) -> Option<EntryDefinition> {
    let rules = parse_make_rules(text);
    let first = || {
        let names = rules.iter().flat_map(|rule| &rule.names);
        let usual = |name: &&&str| !name.starts_with('.') && !name.contains('%');
        names.copied().find(|name| usual(&name))
    };
    let found = rules_of_name(&rules, target.or_else(first)?);
    if found.is_empty() {
        return None;
    }
    let recipes = found.iter().map(|rule| rule.recipe.join("\n"));
    // A line that is joined with the next one is one command.
    let recipes = recipes.map(|recipe| recipe.replace("\\\n", " "));
    let commands =
        recipes.flat_map(|recipe| recipe.lines().map(parse_make_command).collect::<Vec<_>>());
    Some(EntryDefinition {
        text: join_lines(&found),
        commands: commands.collect(),
    })
}

/// What the shell gets of a line of a recipe.
fn parse_make_command(line: &str) -> String {
    let line = line.trim_start().trim_start_matches(['@', '-', '+']);
    let line = line.replace("$(MAKE)", "make").replace("${MAKE}", "make");
    line.replace("$(CURDIR)", ".").replace("$$", "$")
}

fn parse_make_rules(text: &str) -> Vec<BuildRule<'_>> {
    let mut rules: Vec<BuildRule<'_>> = Vec::new();
    let mut is_open = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(rule) = rules
            .last_mut()
            .filter(|_| is_open && line.starts_with('\t'))
        {
            rule.lines.push(line);
            rule.recipe.push(line);
            continue;
        }
        let plain = line.trim();
        if plain.is_empty() || plain.starts_with('#') {
            continue;
        }
        let mut whole = vec![line];
        while whole.last().is_some_and(|last| last.ends_with('\\')) {
            let Some(next) = lines.next() else { break };
            whole.push(next);
        }
        // Between the lines of a recipe conditions may stand.
        match parse_make_rule(&whole) {
            Some(rule) => {
                rules.push(rule);
                is_open = true;
            }
            None => is_open = is_open && MAKE_CONDITIONS.iter().any(|word| plain.starts_with(word)),
        }
    }
    rules
}

const MAKE_CONDITIONS: &[&str] = &["if", "else", "endif"];

/// The rule that a line begins, with the lines that it is joined with.
fn parse_make_rule<'a>(lines: &[&'a str]) -> Option<BuildRule<'a>> {
    let line = lines.first()?;
    let (names, rest) = line.split_once(':')?;
    // `A := x`, `A ::= x` and `A = x:y` are no rules.
    if names.contains('=')
        || names.starts_with('\t')
        || rest.trim_start_matches(':').starts_with('=')
    {
        return None;
    }
    let (needs, inline) = match rest.split_once(';') {
        Some((needs, command)) => (needs, Some(command)),
        None => (rest, None),
    };
    let more = lines.iter().skip(1).copied();
    let needs = std::iter::once(needs)
        .chain(more)
        .flat_map(str::split_whitespace);
    let needs = needs.filter(|need| !matches!(*need, "\\" | "|" | ":"));
    Some(BuildRule {
        names: names.trim_end_matches('&').split_whitespace().collect(),
        needs: needs.collect(),
        lines: lines.to_vec(),
        recipe: inline.into_iter().collect(),
    })
}

/// A script of a package.json, with those that npm runs before and after it.
fn parse_package_script(text: &str, script: &str) -> Option<EntryDefinition> {
    let package: Value = serde_json::from_str(text).ok()?;
    let scripts = package.get("scripts")?;
    scripts.get(script)?.as_str()?;
    let names = [
        format!("pre{script}"),
        script.to_owned(),
        format!("post{script}"),
    ];
    let mut found = EntryDefinition::default();
    for name in names {
        if let Some(command) = scripts.get(&name).and_then(Value::as_str) {
            found.text.push_str(&format!("{name}: {command}\n"));
            found.commands.push(command.to_owned());
        }
    }
    Some(found)
}

/// A recipe of a justfile, or the first one.
fn parse_just_recipe(text: &str, recipe: Option<&str>) -> Option<EntryDefinition> {
    let rules = parse_just_rules(text);
    let first = || rules.first().and_then(|rule| rule.names.first()).copied();
    let found = rules_of_name(&rules, recipe.or_else(first)?);
    if found.is_empty() {
        return None;
    }
    let commands = found
        .iter()
        .flat_map(|rule| parse_just_commands(&rule.recipe));
    Some(EntryDefinition {
        text: join_lines(&found),
        commands: commands.collect(),
    })
}

/// What the shell gets of a recipe: each line by itself, or all of them where
/// the recipe names its shell.
fn parse_just_commands(recipe: &[&str]) -> Vec<String> {
    let first = recipe.first().map_or("", |line| line.trim());
    if first.starts_with("#!") {
        let is_shell = first.ends_with("sh") || first.contains("sh ");
        return is_shell.then(|| recipe.join("\n")).into_iter().collect();
    }
    let plain = |line: &&str| line.trim().trim_start_matches(['@', '-']).to_owned();
    recipe.iter().map(plain).collect()
}

fn parse_just_rules(text: &str) -> Vec<BuildRule<'_>> {
    let mut rules: Vec<BuildRule<'_>> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let is_indented = line.starts_with([' ', '\t']);
        if line.trim().is_empty() {
            continue;
        }
        if is_indented {
            if let Some(rule) = rules.last_mut().filter(|_| is_open) {
                rule.lines.push(line);
                rule.recipe.push(line);
            }
            continue;
        }
        let rule = parse_just_rule(line);
        // Comments and attributes stand between recipes, or within one.
        is_open = rule.is_some() || (is_open && line.starts_with('#'));
        rules.extend(rule);
    }
    rules
}

/// The recipe or the alias that a line begins.
fn parse_just_rule(line: &str) -> Option<BuildRule<'_>> {
    if let Some((name, target)) = line
        .strip_prefix("alias ")
        .and_then(|rest| rest.split_once(":="))
    {
        return Some(BuildRule {
            names: vec![name.trim()],
            needs: vec![target.trim()],
            lines: vec![line],
            recipe: Vec::new(),
        });
    }
    let head = line.strip_prefix('@').unwrap_or(line);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let end = head.find(|c| !is_name(c))?;
    let (name, rest) = head.split_at(end);
    let mut quote = None;
    let colon = rest.char_indices().find_map(|(at, c)| {
        match quote {
            Some(mark) if c == mark => quote = None,
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if c == ':' => return Some(at),
            Some(_) | None => {}
        }
        None
    })?;
    let needs = &rest[colon + 1..];
    if name.is_empty() || needs.starts_with('=') {
        return None;
    }
    let needs = needs.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')'));
    let needs = needs.take_while(|need| !need.starts_with('#'));
    Some(BuildRule {
        names: vec![name],
        needs: needs
            .filter(|need| !need.is_empty() && *need != "&&")
            .collect(),
        lines: vec![line],
        recipe: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use piton_simkit::seed::cases;
    use proptest::prelude::*;

    use super::super::entry::entries_of_command;
    use super::*;

    /// The text of what a command runs, in a project of one file.
    fn text_of(command: &str, file: &str, text: &str) -> Option<String> {
        let entry = entries_of_command(command, "").into_iter().next()?;
        entry_text(&entry, &|path| (path == file).then(|| text.to_owned()))
    }

    #[track_caller]
    fn check(command: &str, file: &str, text: &str, expect: &str) {
        let found = text_of(command, file, text);
        assert_eq!(found.as_deref(), Some(expect), "{command}");
    }

    #[track_caller]
    fn check_none(command: &str, file: &str, text: &str) {
        assert_eq!(text_of(command, file, text), None, "{command}");
    }

    const MAKEFILE: &str = "\
A := x:y
B = a:b
.PHONY: test all

all: build test

build: main.c
\tcc main.c

test unit: build \\
\t  data
\t@./run \\
\t  a
ifdef X
\t$(MAKE) lint
endif

# Not of it.
lint:; sh lint.sh
test-%:
\tsh $*.sh
";

    #[test]
    fn a_target_is_its_lines_and_its_recipe() {
        let test = "test unit: build \\\n\t  data\n\t@./run \\\n\t  a\n\t$(MAKE) lint";
        check("make test", "Makefile", MAKEFILE, test);
        check("make unit", "Makefile", MAKEFILE, test);
        check("make lint", "makefile", MAKEFILE, "lint:; sh lint.sh");
        check(
            "make test-a",
            "GNUmakefile",
            MAKEFILE,
            "test-%:\n\tsh $*.sh",
        );
        check_none("make none", "Makefile", MAKEFILE);
        check_none("make A", "Makefile", MAKEFILE);
        check_none("make test", "other.mk", MAKEFILE);
        check("make", "Makefile", "x:\n\ta\ny:\n\tb\n", "x:\n\ta");
    }

    #[test]
    fn a_target_without_a_recipe_is_what_it_needs() {
        let text = "check: a b\na: c\n\t1\nb:\n\t2\nc:\n\t3\n";
        check(
            "make check",
            "Makefile",
            text,
            "check: a b\na: c\n\t1\nb:\n\t2",
        );
        check("make a", "Makefile", text, "a: c\n\t1");
        check("make a", "Makefile", "a: b\nb: a\n", "a: b\nb: a");
    }

    #[test]
    fn a_script_of_a_package_is_its_text_and_what_runs_around_it() {
        let text = r#"{"scripts": {"test": "jest", "pretest": "tsc", "build": "x"}}"#;
        check(
            "npm test",
            "package.json",
            text,
            "pretest: tsc\ntest: jest\n",
        );
        check("npm run build", "package.json", text, "build: x\n");
        check_none("npm run lint", "package.json", text);
        check_none("npm test", "package.json", "{ broken");
        check_none("npm test", "package.json", "[]");
    }

    const JUSTFILE: &str = "\
set shell := [\"bash\", \"-c\"]
x := 'a:b'
alias t := test

# All.
all: lint (test 'x')

[private]
@test name='a:b' *rest: build && after
    ./run {{name}}

    ./more
lint:
\tsh lint.sh
";

    #[test]
    fn a_recipe_is_its_lines() {
        let test = "@test name='a:b' *rest: build && after\n    ./run {{name}}\n    ./more";
        check("just test", "justfile", JUSTFILE, test);
        check(
            "just t",
            "Justfile",
            JUSTFILE,
            &format!("alias t := test\n{test}"),
        );
        check("just lint", ".justfile", JUSTFILE, "lint:\n\tsh lint.sh");
        check_none("just x", "justfile", JUSTFILE);
        check(
            "just all",
            "justfile",
            JUSTFILE,
            &format!("all: lint (test 'x')\nlint:\n\tsh lint.sh\n{test}"),
        );
        check("just", "justfile", "a:\n  x\nb:\n  y\n", "a:\n  x");
    }

    #[test]
    fn a_script_is_all_of_its_file_and_tests_are_not_compared() {
        check("sh check.sh", "check.sh", "exit 0\n", "exit 0\n");
        check_none("bats x.bats", "x.bats", "@test 'a' {\n}");
        check("node --test x.mjs", "x.mjs", "assert(x)", "assert(x)");
        check(
            "robot a.robot",
            "a.robot",
            "*** Test Cases ***",
            "*** Test Cases ***",
        );
    }

    /// What a command runs, also where that stands in files.
    #[track_caller]
    fn check_below(command: &str, files: &[(&str, &str)], expect: &[&str]) {
        let text_of = |path: &str| {
            let file = files.iter().find(|(name, _)| *name == path);
            file.map(|(_, text)| (*text).to_owned())
        };
        let found = follow_check_entries(&[command.to_owned()], &text_of);
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(shown, expect, "{command}");
    }

    #[test]
    fn what_an_entry_runs_is_found() {
        let package = r#"{"scripts": {"test": "npm run unit && node a.js", "unit": "sh b.sh"}}"#;
        check_below(
            "npm test",
            &[("package.json", package)],
            &[
                "script `test` of package.json",
                "script `unit` of package.json",
                "a.js",
                "b.sh",
            ],
        );
        let makefile = "test: a.o\n\t@cd x && \\\n\t  sh y.sh\n\t-sh z.sh\n\t$(MAKE) -C lib check\na.o:\n\tsh no.sh\n";
        check_below(
            "make test",
            &[
                ("Makefile", makefile),
                ("lib/Makefile", "check:\n\t$(PYTHON) c.py\n"),
            ],
            &[
                "target `test` of Makefile",
                "x/y.sh",
                "z.sh",
                "target `check` of lib/Makefile",
                "lib/c.py",
            ],
        );
        let justfile = "test:\n  #!/usr/bin/env bash\n  cd x\n  sh y.sh\n";
        check_below(
            "just test",
            &[("justfile", justfile)],
            &["recipe `test` of justfile", "x/y.sh"],
        );
        check_below("make test", &[], &["target `test` of Makefile"]);
    }

    #[test]
    fn entries_that_run_each_other_come_to_an_end() {
        let makefile = "a:\n\tmake b\nb:\n\tmake a\n";
        check_below(
            "make a",
            &[("Makefile", makefile)],
            &["target `a` of Makefile", "target `b` of Makefile"],
        );
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn reading_never_panics_on_any_file(
            text in "(test|:|=|\t|\n|\\\\|;|%|alias |@|#|\"|'|[({})]|\\PC){0,80}",
        ) {
            for command in ["make", "make test", "npm test", "just", "just test"] {
                for entry in entries_of_command(command, "") {
                    entry_text(&entry, &|_| Some(text.clone()));
                }
                let found = follow_check_entries(&[command.to_owned()], &|_| Some(text.clone()));
                prop_assert!(found.len() <= ENTRIES_MAX);
            }
        }
    }
}
