#!/bin/sh
# Builds piton and watches it take a graph of issues to its end, in a scratch copy of
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

scratch=$(mktemp -d "${TMPDIR:-/tmp}/issue-graph.XXXXXX")
# What a user trusts is remembered here, not in the home folder.
export XDG_STATE_HOME="$scratch/.git/state"
cp "$example/state.json" "$example/REQUIREMENTS.md" "$example/pyproject.toml" "$example/agent.sh" "$scratch/"
cd "$scratch"
chmod +x agent.sh
git init --quiet
git config user.name hello
git config user.email hello@example.org
git config commit.gpgsign false
git add --all
git commit --quiet --no-verify --message 'What the work begins with'

# Types a command, and shows it. 3 says that the run waits for a person.
typed() {
    echo
    echo "\$ piton $*"
    status=0
    "$PITON" "$@" || status=$?
    [ "$status" = 0 ] || [ "$status" = 3 ] || exit "$status"
}

typed run state.json --agent ./agent.sh
typed inbox
typed decide d1 reject --why 'say what is left out as well'
typed run
typed decide d2 approve
typed run
typed decide d3 approve
typed run
[ "$status" = 0 ] || {
    echo "run.sh: the run did not come to its end; \`piton inbox\` in $scratch says why" >&2
    exit "$status"
}
typed issue list
typed files check --strict state.json

cat <<END

Everything is in $scratch:
  state.json    the phase, and how each issue stands, live while it runs
  artifacts/    what was approved
  .git/piton/journal.db          every event: \`piton journal show\`
  .git/piton/blobs/transcripts/  what each agent said

To look around:  cd $scratch && alias piton='$PITON'
END
