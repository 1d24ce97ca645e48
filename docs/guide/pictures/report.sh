#!/bin/sh
# Makes report.png beside this script: the report of a small run that a scripted agent
# works through. Needs git, Chromium, and `piton` on PATH.
#
#   sh docs/guide/pictures/report.sh
set -eu

here=$(cd "$(dirname "$0")" && pwd)
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/shop"
cd "$scratch/shop"
git init -q
export XDG_STATE_HOME="$scratch/state" TZ=UTC

cat >prd.json <<'LIST'
{"branchName": "shop", "userStories": [
{"id": "cart", "title": "Keep the cart over a restart", "acceptanceCriteria": ["x"], "passes": false, "verification": "test -e cart.txt"},
{"id": "login", "title": "Wire the login to the new form", "acceptanceCriteria": ["x"], "passes": false, "verification": "test -e login.txt"},
{"id": "search", "title": "Search by two words", "acceptanceCriteria": ["x"], "passes": false, "verification": "test -e search.txt"},
{"id": "prices", "title": "Show prices with tax", "acceptanceCriteria": ["x"], "passes": false, "verification": "echo 'running 12 tests'; echo 'test rounds_half_up ... FAILED'; echo \"  left: 1.05, right: 1.06\"; exit 1"},
{"id": "mail", "title": "Send a mail for each order", "acceptanceCriteria": ["x"], "passes": false},
{"id": "refund", "title": "Refund an order", "acceptanceCriteria": ["x"], "passes": false, "dependsOn": ["mail"]}
]}
LIST
cat >agent.sh <<'AGENT'
#!/bin/sh
cat >/dev/null
case $PITON_ITEM in
mail) echo '{"status":"needs-human","humanNeeded":{"reason":"Which sender address: shop@ or orders@?"},"usage":{"input_tokens":9100,"output_tokens":400,"cost_usd":0.11}}'; exit 0;;
prices) cost=0.42;;
cart) cost=0.85;;
*) cost=0.23;;
esac
echo "$PITON_ITEM" >"$PITON_ITEM.txt"
echo '{"status":"completed","summary":"did it","usage":{"input_tokens":21000,"output_tokens":3100,"cost_usd":'$cost'}}'
AGENT
chmod +x agent.sh

piton run prd.json --agent ./agent.sh --model opus --trust 2>/dev/null || true
piton report --format html --output "$scratch/report.html"
"$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars \
  --window-size=760,1180 --screenshot="$here/report.png" "$scratch/report.html" 2>/dev/null
