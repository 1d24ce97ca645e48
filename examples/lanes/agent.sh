#!/bin/sh
# Stands in for a coding agent: reads a prompt, does some work in its lane, says
# what came of it. A real one is named in its place: --agent claude.
set -eu

prompt=$(cat)

done_with() {
    printf '```json\n{"status": "completed", "summary": "%s"}\n```\n' "$1"
}

# Both sides of a merge changed the list: take the pages of both.
if grep -q '^<<<<<<<' index.txt; then
    grep -v '^[<=>|]\{7\}' index.txt | sort -u >index.new
    mv index.new index.txt
    done_with 'took the pages of both sides'
    exit 0
fi

case $PITON_ITEM in
check/*)
    printf '%s\n' '#!/bin/sh' 'while read -r page; do test -s "$page.html" || exit 1; done <index.txt' >check.sh
    done_with 'wrote check.sh'
    ;;
*)
    # As long as an agent takes, so that all three are at work at once.
    sleep 1
    echo "<h1>$PITON_ITEM</h1>" >"$PITON_ITEM.html"
    echo "$PITON_ITEM" >>index.txt
    done_with "wrote $PITON_ITEM.html in lane $PITON_LANE"
    ;;
esac
