#!/bin/sh
# Stands in for a coding agent: reads a prompt, does some work, says what came
# of it. A real one is named in its place: --agent claude.
set -eu

prompt=$(cat)
mkdir -p artifacts

done_with() {
    printf '```json\n{"status": "completed", "summary": "%s"}\n```\n' "$1"
}

if [ "$PITON_ROLE" = quality-reviewer ]; then
    printf '{"verdict": "APPROVE", "summary": "it does what the issue asks for", "observations": []}\n'
    exit 0
fi

case $PITON_ITEM in
DESIGN)
    printf '# Scope\n\nOne program, `greet.py`, and a manual. No configuration.\n' >artifacts/scoping-doc.md
    case $prompt in
    *'say what is left out'*)
        printf '\nLeft out: other languages than English.\n' >>artifacts/scoping-doc.md
        done_with 'said what is left out'
        ;;
    *) done_with 'wrote the scoping document' ;;
    esac
    ;;
PLANNING)
    cat >artifacts/pert-tasks.json <<'TASKS'
{"tasks": [
  {"id": "greeter#1", "repo": "greeter", "team": "", "title": "greet.py greets by name",
   "description": "python3 greet.py Ada prints: Hello, Ada!", "blocked_by": [], "size": "S"},
  {"id": "greeter#2", "repo": "greeter", "team": "", "title": "A manual",
   "description": "MANUAL.md says how greet.py is used.", "blocked_by": ["greeter#1"], "size": "S"}
]}
TASKS
    done_with 'cut the work into two tasks'
    ;;
'greeter#1')
    printf '%s\n' 'import sys' 'print(f"Hello, {sys.argv[1]}!")' >greet.py
    done_with 'wrote greet.py'
    ;;
'greeter#2')
    echo 'Run `python3 greet.py NAME`, and NAME is greeted.' >MANUAL.md
    done_with 'wrote MANUAL.md'
    ;;
*)
    printf '{"status": "failed", "summary": "", "error": "nobody told me about %s"}\n' "$PITON_ITEM"
    ;;
esac
