//! `--log FILE`.

use std::os::unix::fs::PermissionsExt as _;

use crate::harness::Scratch;

#[test]
fn what_piton_does_is_written_step_by_step_and_without_secrets() {
    let scratch = Scratch::new();
    let mut command = scratch.command(&[
        "--log",
        "steps.log",
        "log",
        "task_completed",
        "--description",
        "tried with hunter22hunter22",
    ]);
    let output = command
        .env("SERVICE_TOKEN", "hunter22hunter22")
        .output()
        .expect("piton starts");
    assert!(output.status.success());
    let text = scratch.read("steps.log");
    assert!(text.contains("piton begins"), "{text}");
    assert!(text.contains("kind=\"entry-logged\""), "{text}");
    assert!(text.contains("piton ends"), "{text}");
    assert!(!text.contains("hunter22"), "{text}");
    let mode = std::fs::metadata(scratch.path().join("steps.log"))
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // The next one goes behind it.
    scratch.piton(&["status", "--log", "steps.log"]);
    assert!(scratch.read("steps.log").starts_with(&text));
}

#[test]
fn a_log_that_cannot_be_written_is_said_before_anything_is_done() {
    let scratch = Scratch::new();
    let args = [
        "--log",
        "nowhere/x.log",
        "log",
        "task_completed",
        "--description",
        "x",
    ];
    insta::assert_snapshot!(scratch.shows(&args), @r"
    error: the log SCRATCH/nowhere/x.log cannot be written [file.unwritable]
      because: No such file or directory (os error 2)
    hint: name a file in a folder that can be written: `--log FILE`
    [exit 7]
    ");
    assert!(!scratch.has(".piton"));
    let mut command = scratch.command(&["status", "--log", "x.log"]);
    let output = command.env("PITON_LOG", "loud").output().expect("starts");
    assert_eq!(output.status.code(), Some(2));
}
