//! A check that a person changes while the work on its item is in the merge queue.

use crate::harness::{Running, Said, Scratch};

use super::{DONE, all_done, arguments, fine, list, on_target, project};

/// A story whose work is being merged while its check is changed: `git merge-tree`
/// waits until the run has read the list again.
fn changed_while_merged(agent: &str, (old, new): (&str, &str)) -> (Scratch, Said) {
    let scratch = project("", 1);
    scratch.agent(&format!(
        "cat >$PITON_PROJECT/.piton/prompt\n{agent}\n{DONE}"
    ));
    scratch.git(&["commit", "-qa", "--amend", "--no-edit"]);
    let with = |check: &str| list(1, &format!(r#""verificationCommands": ["{check}"], "#));
    scratch.write("prd.json", &with(old));
    let own = scratch.path().display().to_string();
    let body = format!(
        "case \" $* \" in *' merge-tree '*)
    touch '{own}/.piton/merging'
    until [ -e '{own}/.piton/go' ]; do sleep 0.02; done;;
esac
PATH=${{PATH#*:}} exec git \"$@\""
    );
    scratch.script(".piton/slow/git", &body);
    let mut command = scratch.command(&arguments("2"));
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{own}/.piton/slow:{path}"));
    let running = Running::start(command);
    scratch.until("a merge is made", || scratch.has(".piton/merging"));
    scratch.write("prd.json", &with(new));
    running.until_said("check of `US-001`");
    scratch.write(".piton/go", "");
    (scratch, running.end())
}

#[test]
fn a_check_that_is_changed_while_its_work_is_merged_runs_before_the_item_is_done() {
    let ran = "test -s US-001.txt && touch $PITON_PROJECT/.piton/ran";
    let (scratch, said) = changed_while_merged("echo made >US-001.txt", ("true", ran));
    fine(&said);
    assert!(scratch.has(".piton/ran"), "{}", said.err);
    all_done(&scratch, 1);
    let shown = scratch.shows(&["show", "US-001"]);
    assert!(shown.contains("(check passed)"), "{shown}");
}

#[test]
fn an_agent_is_told_that_the_check_was_changed_where_the_new_one_fails() {
    let agent = "if [ -e US-001.txt ]; then echo more; else echo made; fi >new
mv new US-001.txt";
    let checks = ("test -s US-001.txt", "grep -q more US-001.txt");
    let (scratch, said) = changed_while_merged(agent, checks);
    fine(&said);
    all_done(&scratch, 1);
    assert_eq!(on_target(&scratch, "US-001.txt"), "more\n");
    let told = "its check was changed after the work was done, and `grep -q more US-001.txt` fails";
    assert!(said.err.contains(told), "{}", said.err);
    let prompt = scratch.read(".piton/prompt");
    assert!(
        prompt.contains("is done. Its check was changed after that, and fails:"),
        "{prompt}"
    );
}
