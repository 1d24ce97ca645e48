#!/bin/sh
# Stands in for a coding agent: reads a prompt, does some work, says what came
# of it. A real one is named in its place: --agent claude.
set -eu

prompt=$(cat)

done_with() {
    printf '```json\n{"status": "completed", "summary": "%s"}\n```\n' "$1"
}

# A check failed, and its output is in the prompt: mend what it found.
case $prompt in
*'it says: Hello Ada!'*)
    sed 's/Hello %s/Hello, %s/' greet.sh >greet.new
    mv greet.new greet.sh
    done_with 'put the comma in'
    exit 0
    ;;
esac

case $PITON_ITEM in
US-1)
    # Forgets the comma. The command of the item will find out.
    printf '%s\n' '#!/bin/sh' 'printf '\''Hello %s!\n'\'' "${1:-world}"' >greet.sh
    done_with 'wrote greet.sh'
    ;;
US-2)
    echo 'Run `sh greet.sh NAME`, and NAME is said hello to.' >MANUAL.md
    done_with 'wrote MANUAL.md'
    ;;
*)
    printf '{"status": "failed", "summary": "", "error": "nobody told me about %s"}\n' "$PITON_ITEM"
    ;;
esac
