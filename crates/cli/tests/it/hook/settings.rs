//! `piton hook install` and `uninstall`.

use super::*;

/// The command with the program on `PATH`, as most have it.
fn typed(scratch: &Scratch, args: &[&str]) -> Said {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_piton"));
    let folder = program.parent().expect("it lies in a folder");
    let mut command = scratch.command(&[&["hook"], args].concat());
    command.env("PATH", folder);
    Said::of(&command.output().expect("piton starts"))
}

const FILES: [(&str, &str); 3] = [
    ("claude", ".claude/settings.json"),
    ("codex", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json"),
];

#[test]
fn a_change_is_shown_before_it_is_made() {
    let scratch = Scratch::new();
    scratch.write(
        ".claude/settings.json",
        "{\n  \"env\": {\"MY_TOKEN\": \"hunter2hunter2\"},\n  \"model\": \"opus\"\n}\n",
    );
    let shown = typed(&scratch, &["install", "--agent", "claude"]).shown(&scratch);
    let piton = env!("CARGO_BIN_EXE_piton");
    let shown = shown.replace(piton, "/path/to/piton");
    insta::assert_snapshot!(shown, @r#"
    --- SCRATCH/.claude/settings.json
    +++ SCRATCH/.claude/settings.json
    @@ -1,4 +1,50 @@
     {
    +  "hooks": {
    +    "SessionStart": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    +            "command": "/path/to/piton hook SessionStart",
    +            "timeout": 15
    +          }
    +        ]
    +      }
    +    ],
    +    "PostToolUse": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    +            "command": "/path/to/piton hook PostToolUse",
    +            "timeout": 15
    +          }
    +        ]
    +      }
    +    ],
    +    "Stop": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    +            "command": "/path/to/piton hook Stop",
    +            "timeout": 15
    +          }
    +        ]
    +      }
    +    ],
    +    "SessionEnd": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    +            "command": "/path/to/piton hook SessionEnd",
    +            "timeout": 15
    +          }
    +        ]
    +      }
    +    ]
    +  },
       "env": {"MY_TOKEN": "[redacted:assigned-secret]"},
       "model": "opus"
     }
    error: stdin is no terminal, so piton cannot ask; nothing was done [usage]
    hint: look at the change above, then repeat the command with `--yes`
    [exit 2]
    "#);
    assert!(!scratch.read(".claude/settings.json").contains("piton"));
    let shown = typed(&scratch, &["install", "--agent", "claude", "--dry-run"]);
    assert_eq!((shown.exit, shown.err.as_str()), (0, "nothing was done\n"));
}

#[test]
fn it_is_made_once_and_undone_to_the_byte() {
    for (agent, file) in FILES {
        for text in [
            "{}",
            "{\"hooks\":{\"Stop\":[]}}",
            "",
            "{\r\n\t\"a\": [1]\r\n}\r\n",
            "{\"hooks\": {\"SessionStart\": [{\"matcher\": \"x\", \"hooks\": [{\"type\": \"command\", \"command\": \"y\"}]}]}}\n",
        ] {
            let scratch = Scratch::new();
            scratch.write(file, text);
            let said = typed(&scratch, &["install", "--agent", agent, "--yes"]);
            assert_eq!(said.exit, 0, "{}", said.err);
            let with = scratch.read(file);
            assert_eq!(with.matches("piton hook ").count(), 4, "{with}");
            let again = typed(&scratch, &["install", "--agent", agent]);
            assert_eq!((again.exit, scratch.read(file)), (0, with), "{}", again.err);
            let said = typed(&scratch, &["uninstall", "--agent", agent, "--yes"]);
            assert_eq!((said.exit, scratch.read(file).as_str()), (0, text));
        }
    }
}

#[test]
fn a_file_that_was_made_goes_again() {
    let scratch = Scratch::new();
    for (agent, file) in FILES {
        let said = typed(&scratch, &["install", "--agent", agent, "--yes"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert!(scratch.has(file));
        let said = typed(&scratch, &["uninstall", "--agent", agent, "--yes"]);
        assert!(said.exit == 0 && !scratch.has(file), "{}", said.err);
        let said = typed(&scratch, &["uninstall", "--agent", agent]);
        assert_eq!(said.exit, 0, "{}", said.err);
    }
    typed(&scratch, &["install", "--agent", "claude", "--yes"]);
    let text = scratch.read(".claude/settings.json");
    scratch.write(
        ".claude/settings.json",
        &text.replacen('{', "{\n  \"model\": \"opus\",", 1),
    );
    typed(&scratch, &["uninstall", "--agent", "claude", "--yes"]);
    insta::assert_snapshot!(scratch.read(".claude/settings.json"), @r#"
    {
      "model": "opus"
    }
    "#);
}

#[test]
fn what_is_damaged_is_named_and_left_alone() {
    let scratch = Scratch::new();
    let text = "{\n  // mine\n  \"model\": \"opus\"\n}\n";
    scratch.write(".gemini/settings.json", text);
    let shown = typed(&scratch, &["install", "--agent", "gemini", "--yes"]).shown(&scratch);
    insta::assert_snapshot!(shown, @r"
    error: SCRATCH/.gemini/settings.json cannot be changed: line 2, column 3: a comment, which JSON does not have [file.unreadable]
    hint: mend it there; it must be JSON without comments
    [exit 6]
    ");
    assert_eq!(scratch.read(".gemini/settings.json"), text);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_the_mode_stays() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let scratch = Scratch::new();
    scratch.write("dots/claude.json", "{}\n");
    let real = scratch.path().join("dots/claude.json");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&real, mode).expect("set");
    std::fs::create_dir(scratch.path().join(".claude")).expect("made");
    let link = scratch.path().join(".claude/settings.json");
    symlink(&real, &link).expect("linked");
    let said = typed(&scratch, &["install", "--agent", "claude", "--yes"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(scratch.read("dots/claude.json").contains("piton hook Stop"));
    assert!(
        std::fs::symlink_metadata(&link)
            .expect("there")
            .is_symlink()
    );
    let mode = std::fs::metadata(&real)
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::remove_file(&real).expect("removed");
    let said = typed(&scratch, &["install", "--agent", "claude", "--yes"]);
    assert!(
        said.exit == 6 && said.err.contains("leads nowhere"),
        "{}",
        said.err
    );
}

#[test]
fn the_users_own_settings_are_where_the_program_looks() {
    let scratch = Scratch::new();
    for (agent, file) in FILES {
        typed(&scratch, &["install", "--agent", agent, "--user", "--yes"]);
        assert!(scratch.has(file), "{agent}");
    }
    let mut command = scratch.command(&["hook", "install", "--agent", "codex", "--user", "--yes"]);
    command.env("CODEX_HOME", scratch.path().join("elsewhere"));
    assert!(command.output().expect("it starts").status.success());
    let program = env!("CARGO_BIN_EXE_piton");
    assert!(
        scratch
            .read("elsewhere/hooks.json")
            .contains(&format!("{program} hook Stop"))
    );
}

/// A program that starts piton, as package managers put one on `PATH`, is not what a
/// hook should start; a link to it is, since it stays when the version changes.
#[test]
fn a_hook_starts_the_native_program_by_its_path() {
    let scratch = Scratch::new();
    let native = env!("CARGO_BIN_EXE_piton");
    scratch.write("wrapped/.keep", "").write("linked/.keep", "");
    scratch.script("wrapped/piton", &format!("exec {native} \"$@\""));
    let linked = scratch.path().join("linked/piton");
    std::os::unix::fs::symlink(native, &linked).expect("linked");
    let folder = std::path::Path::new(native).parent().expect("a folder");
    for (folder, written) in [
        (folder, native.to_owned()),
        (&scratch.path().join("wrapped"), native.to_owned()),
        (&scratch.path().join("linked"), linked.display().to_string()),
    ] {
        let mut command = scratch.command(&["hook", "install", "--agent", "claude", "--yes"]);
        let said = Said::of(&command.env("PATH", folder).output().expect("it starts"));
        assert_eq!(said.exit, 0, "{}", said.err);
        let settings = scratch.read(".claude/settings.json");
        assert!(
            settings.contains(&format!("\"{written} hook Stop\"")),
            "{settings}"
        );
    }
}

#[test]
fn a_program_is_told_in_json_what_was_done() {
    let scratch = Scratch::new();
    let said = typed(
        &scratch,
        &["install", "--agent", "claude", "--yes", "--json"],
    );
    let done: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(
        (&done["done"], &done["changes"]),
        (&json!(true), &json!(true))
    );
    let said = typed(&scratch, &["uninstall", "--agent", "claude", "--json"]);
    assert_eq!(said.exit, 2);
    let said = typed(&scratch, &["install", "--agent", "vi"]);
    assert_eq!(said.exit, 2);
}
