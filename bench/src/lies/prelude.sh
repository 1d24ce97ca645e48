# The words that every agent of the table has. The plan's own words (plan,
# tick, tick_all, rename_done, drop_checks) come from plan.rs, the name of its
# item and the folder of its row from the environment.
set -u
prompt=$(cat)
arguments="$*"
item=${LIES_ITEM:-${PITON_ITEM:-}}

# The verdict, in the form that the prompt asks for.
completed() { printf '{"status":"completed","summary":"%s is done"}\n' "$item"; }

# The work that is asked for, at each item that is named.
work() { for one in "$@"; do printf '%s works\n' "$one" >"lib/$one"; done; }

# Changes the plan's file by a sed script, in place.
edit() {
    sed "$1" "$plan" >"$LIES_ROW/edited" && cat "$LIES_ROW/edited" >"$plan"
}

# Succeeds once in a row of the table, whichever attempt it is.
once() { mkdir "$LIES_ROW/once-$1" 2>/dev/null; }

# Whether the conversation is resumed: the agent is asked for its verdict.
asked_again() { case $arguments in *--resume*) return 0 ;; *) return 1 ;; esac; }

# Commits all that is there.
commit() { git add -A && git commit -q -m "$1"; }

# A second work tree of the repository, on a branch of its own.
other_tree() { git worktree add -q -b side "$LIES_ROW/side"; }

