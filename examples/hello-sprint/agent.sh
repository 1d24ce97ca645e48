#!/bin/sh
# Stands in for a coding agent: reads a prompt, does some work, says what came
# of it. A real one is named in its place: --agent claude.
set -eu

prompt=$(cat)

done_with() {
    printf '```json\n{"status": "completed", "summary": "%s"}\n```\n' "$1"
}

sleep 0.4

# A check failed, and its output is in the prompt: mend what it found.
case $prompt in
*'Mend `greet.sh`'*)
    echo 'The test expects a comma after Hello.'
    sed 's/Hello %s/Hello, %s/' greet.sh >greet.new
    mv greet.new greet.sh
    done_with 'put the comma in that the test asks for'
    exit 0
    ;;
esac

case $PITON_ITEM in
build/program/write)
    # Forgets the comma. The test will find out.
    printf '%s\n' '#!/bin/sh' 'printf '\''Hello %s!\n'\'' "${1:-world}"' >greet.sh
    done_with 'wrote greet.sh'
    ;;
build/test/write)
    # The network is down the first time. What failed before stands in the prompt.
    case $prompt in
    *'What failed here'*) ;;
    *)
        echo 'connect ECONNREFUSED 203.0.113.7:443'
        exit 1
        ;;
    esac
    cat >test.sh <<'TEST'
said=$(sh greet.sh Ada)
if [ "$said" != 'Hello, Ada!' ]; then
    echo "expected: Hello, Ada!"
    echo "but it says: $said"
    exit 1
fi
echo 'greet.sh says hello as it should'
TEST
    done_with 'wrote test.sh'
    ;;
build/manual/write)
    echo 'Run `sh greet.sh NAME`, and NAME is said hello to.' >MANUAL.md
    done_with 'wrote MANUAL.md'
    ;;
release)
    echo '- 1.0: says hello' >CHANGES.md
    done_with 'wrote CHANGES.md'
    ;;
*)
    printf '{"status": "failed", "summary": "", "error": "nobody told me about %s"}\n' "$PITON_ITEM"
    ;;
esac
