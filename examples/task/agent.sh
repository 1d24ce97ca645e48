#!/bin/sh
# Stands in for a coding agent: reads a prompt, does some work, says what came
# of it. A real one is named in its place: --agent claude.
set -eu

prompt=$(cat)

done_with() {
    printf '{"status": "completed", "summary": "%s"}\n' "$1"
}

# A check failed, and its output is in the prompt: mend what it found.
case $prompt in
*'it says: Hello Ada!'*)
    sed 's/Hello %s/Hello, %s/' greet.sh >greet.new
    mv greet.new greet.sh
    done_with 'put the comma in that the check asks for'
    exit 0
    ;;
esac

case $prompt in
*'Make this criterion true: **CHECK'*)
    cat >check.sh <<'CHECK'
if [ -f greet.sh ] && [ "$(sh greet.sh Ada)" != 'Hello, Ada!' ]; then
    echo "it says: $(sh greet.sh Ada)"
    exit 1
fi
if [ -f MANUAL.md ] && ! grep -q greet.sh MANUAL.md; then
    echo 'MANUAL.md does not name greet.sh'
    exit 1
fi
CHECK
    done_with 'wrote check.sh'
    ;;
*'Make this criterion true: **`sh greet.sh'*)
    # Forgets the comma. The check will find out.
    printf '%s\n' '#!/bin/sh' 'printf '\''Hello %s!\n'\'' "${1:-world}"' >greet.sh
    done_with 'wrote greet.sh'
    ;;
*'Make this criterion true: **`MANUAL.md'*)
    echo 'Run `sh greet.sh NAME`, and NAME is said hello to.' >MANUAL.md
    done_with 'wrote MANUAL.md'
    ;;
*)
    printf '{"status": "blocked", "summary": "", "error": "nothing is known of %s"}\n' "$PITON_ITEM"
    ;;
esac
