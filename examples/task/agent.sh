#!/bin/sh
# Stands in for a coding agent: reads a prompt, does some work, says what came
# of it. A real one is named in its place: --agent claude.
set -eu

prompt=$(cat)

# A check failed, and its output is in the prompt: mend what it found.
case $prompt in
*'it says: Hello Ada!'*)
    sed 's/Hello %s/Hello, %s/' greet.sh >greet.new
    mv greet.new greet.sh
    echo 'Put the comma in that the check asks for.'
    echo '<ralph>COMPLETE</ralph>'
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
    echo 'Wrote check.sh.'
    ;;
*'Make this criterion true: **`sh greet.sh'*)
    # Forgets the comma. The check will find out.
    printf '%s\n' '#!/bin/sh' 'printf '\''Hello %s!\n'\'' "${1:-world}"' >greet.sh
    echo 'Wrote greet.sh.'
    ;;
*'Make this criterion true: **`MANUAL.md'*)
    echo 'Run `sh greet.sh NAME`, and NAME is said hello to.' >MANUAL.md
    echo 'Wrote MANUAL.md.'
    ;;
*)
    echo "Nobody told me about $PITON_ITEM."
    echo '<ralph>BLOCKED</ralph>'
    exit 0
    ;;
esac
echo '<ralph>COMPLETE</ralph>'
