#!/bin/sh
# A `gh` that keeps its pull requests in files below $GH_FAKE, beside the bare
# repository that is the remote, and can be told to fail or to die. Without $GH_FAKE they
# are where the remote is.
: "${GH_FAKE:=$(dirname "$(git remote get-url origin)")}"
echo "$*" >>"$GH_FAKE/log"
if [ "$1" = --version ]; then echo 'gh version 2.0.0'; exit 0; fi
if [ -e "$GH_FAKE/broken" ]; then echo 'HTTP 502: Bad Gateway' >&2; exit 1; fi
pulls="$GH_FAKE/pulls"
# Dies with whoever called it, once.
dies_at() {
	if [ -e "$GH_FAKE/$1" ]; then
		rm "$GH_FAKE/$1"
		kill -9 "$PPID"
		exit 1
	fi
}
head_of() {
	if [ "$(cat "$1/state")" = OPEN ]; then
		git --git-dir="$GH_FAKE/origin.git" rev-parse "refs/heads/$(cat "$1/branch")"
	else
		cat "$1/head"
	fi
}
case "$1 $2" in
'pr list')
	listed=
	for pull in "$pulls"/*; do
		[ -e "$pull/branch" ] && [ "$(cat "$pull/branch")" = "$4" ] || continue
		number=$(basename "$pull")
		listed="$listed${listed:+,}{\"number\": $number, \"url\": \"https://github.test/acme/shop/pull/$number\", \"state\": \"$(cat "$pull/state")\", \"headRefOid\": \"$(head_of "$pull")\", \"isCrossRepository\": false}"
	done
	echo "[$listed]"
	;;
'pr create')
	dies_at die-before-create
	number=1
	for pull in "$pulls"/*; do
		[ -e "$pull/branch" ] || continue
		number=$((number + 1))
		if [ "$(cat "$pull/branch")" = "$4" ] && [ "$(cat "$pull/state")" = OPEN ]; then
			echo "a pull request for branch \"$4\" already exists" >&2
			exit 1
		fi
	done
	mkdir -p "$pulls/$number"
	cat >"$pulls/$number/body"
	echo "$4" >"$pulls/$number/branch"
	echo "$6" >"$pulls/$number/base"
	echo "$8" >"$pulls/$number/title"
	echo OPEN >"$pulls/$number/state"
	dies_at die-after-create
	echo "https://github.test/acme/shop/pull/$number"
	;;
'pr view')
	pull="$pulls/$3"
	if [ ! -e "$pull" ]; then echo 'no pull requests found' >&2; exit 1; fi
	merge=null
	if [ -e "$pull/merge" ]; then merge="{\"oid\": \"$(cat "$pull/merge")\"}"; fi
	reviews=$(cat "$pull/reviews" 2>/dev/null)
	comments=$(cat "$pull/comments" 2>/dev/null)
	echo "{\"url\": \"https://github.test/acme/shop/pull/$3\", \"headRefName\": \"$(cat "$pull/branch")\", \"baseRefName\": \"$(cat "$pull/base")\", \"isCrossRepository\": false, \"state\": \"$(cat "$pull/state")\", \"mergeCommit\": $merge, \"headRefOid\": \"$(head_of "$pull")\", \"reviews\": [$reviews], \"comments\": [$comments]}"
	;;
'api '*)
	number=${2#*/pulls/}
	echo "[$(cat "$pulls/${number%%/*}/lines" 2>/dev/null)]"
	;;
*)
	echo "unknown command: $*" >&2
	exit 1
	;;
esac
