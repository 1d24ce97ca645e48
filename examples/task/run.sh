#!/bin/sh
# Builds piton and watches it work through a task file, in a scratch copy of
# this folder. Nothing else on this machine is touched. PITON=/path/to/piton
# skips the build.
set -eu

example=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
repository=$(CDPATH='' cd -- "$example/../.." && pwd)
unset PITON_PROJECT

need() {
    command -v "$1" >/dev/null 2>&1 || {
        echo "run.sh: $1 is needed and is not on PATH: $2" >&2
        exit 1
    }
}

need git 'install it with the package manager of this system'
if [ -z "${PITON:-}" ]; then
    need cargo 'install it from https://rustup.rs'
    echo 'Building piton. The first time this takes a few minutes, afterwards seconds.' >&2
    PITON=$(
        cd "$repository"
        cargo build --package piton --message-format json-render-diagnostics |
            sed -n 's/.*"executable":"\([^"]*\/piton\)".*/\1/p' | tail -n 1
    )
    [ -x "$PITON" ] || {
        echo 'run.sh: piton could not be built; what cargo says stands above' >&2
        exit 1
    }
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/task.XXXXXX")
# What a user trusts is remembered here, not in the home folder.
export XDG_STATE_HOME="$scratch/.git/state"
cp "$example/RALPH_TASK.md" "$example/agent.sh" "$scratch/"
cd "$scratch"
chmod +x agent.sh
git init --quiet
git add --all
git -c user.name=hello -c user.email=hello@example.org -c commit.gpgsign=false \
    commit --quiet --no-verify --message 'What the work begins with'

show() {
    echo
    echo "\$ $1"
}

show 'piton run RALPH_TASK.md --agent ./agent.sh --trust'
status=0
"$PITON" run RALPH_TASK.md --agent ./agent.sh --trust || status=$?

show 'piton status'
"$PITON" status

show 'git diff RALPH_TASK.md'
git --no-pager diff --unified=0 RALPH_TASK.md

cat <<END

Everything is in $scratch:
  RALPH_TASK.md   what is done, live while it runs
  .git/piton/journal.db          every event: \`piton journal show\`
  .git/piton/blobs/transcripts/  what each agent said

To look around:  cd $scratch && alias piton='$PITON'
END
exit "$status"
