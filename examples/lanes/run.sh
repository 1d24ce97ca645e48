#!/bin/sh
# Builds piton and watches three agents work at once on a sprint, in a scratch copy of
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

scratch=$(mktemp -d "${TMPDIR:-/tmp}/lanes.XXXXXX")
# What a user trusts is remembered here, not in the home folder.
export XDG_STATE_HOME="$scratch/.git/state"
cp -R "$example/sprints" "$example/.claude" "$example/agent.sh" "$scratch/"
cd "$scratch"
chmod +x agent.sh
touch index.txt
git init --quiet --initial-branch main
git config user.name hello
git config user.email hello@example.org
git config commit.gpgsign false
git add --all
git commit --quiet --no-verify --message 'What the work begins with'

show() {
    echo
    echo "\$ $1"
}

show 'piton run sprints/site --agent ./agent.sh --workers 3 --trust'
status=0
"$PITON" run sprints/site --agent ./agent.sh --workers 3 --trust || status=$?

show 'git log --graph --oneline --all'
git --no-pager log --graph --oneline --all

show 'cat index.txt'
cat index.txt

show 'piton plan clean site'
"$PITON" plan clean 2026-01-15_site

cat <<END

Everything is in $scratch:
  sprints/site/PROGRESS.yaml    what is done, live while it runs
  .git/piton/journal.db          every event: \`piton journal show\`
  .git/piton/blobs/transcripts/  what each agent said

To look around:  cd $scratch && alias piton='$PITON'
END
exit "$status"
