# The agent of the crash tests: one small deed, a line in the log when it
# begins and when it ends, and a complaint when somebody else works on the same
# node at the same time.
#
# WATCH: the folder of the log. MODE: how it behaves the first time it works on
# SLOW (a node); always quick without.

log() { printf '%s %s %s\n' "$PITON_ITEM" "$PITON_ATTEMPT" "$1" >> "$WATCH/log"; }

# When a process was started, in $born; false when it does not run.
born() {
    { read -r stat < "/proc/$1/stat"; } 2> /dev/null || return 1
    set -- ${stat##*) }
    [ "$1" != Z ] && [ "$1" != X ] || return 1
    shift 19
    born=$1
}

# A lock on the node: by mkdir, with the process in it.
take() {
    pid= was=
    until mkdir "$WATCH/locks/$slug" 2> /dev/null; do
        { read -r pid was < "$WATCH/locks/$slug/pid"; } 2> /dev/null
        [ -n "$was" ] || { sleep 0.05; { read -r pid was < "$WATCH/locks/$slug/pid"; } 2> /dev/null; }
        if [ -n "$was" ] && born "$pid" && [ "$born" = "$was" ]; then
            log "violation process-$pid-works-on-it-too"
            break
        fi
        rm -rf "$WATCH/locks/$slug"
    done
    born $$
    echo "$$ $born" > "$WATCH/locks/$slug/pid"
    # Whoever ran away from its parent is told of, too.
    if [ -e "$WATCH/grandchild" ]; then
        read -r pid was < "$WATCH/grandchild"
        if born "$pid" && [ "$born" = "$was" ] && [ "$pid" != "$$" ]; then
            log "violation grandchild-$pid-works-on-it-too"
        fi
    fi
}

give_back() { rm -r "$WATCH/locks/$slug"; }

log start
IFS=/
set -- $PITON_ITEM
IFS=-
slug="$*"
unset IFS
take
prompt=$(cat)

if [ "$PITON_ITEM" = "$SLOW" ] && mkdir "$WATCH/slow" 2> /dev/null; then
    case $MODE in
        long) : > "$WATCH/works"; sleep 60 ;;
        stubborn)
            trap '' TERM INT HUP
            : > "$WATCH/works"
            n=0
            while [ $n -lt 600 ]; do sleep 0.1; n=$((n + 1)); done
            ;;
        grandchild)
            setsid sh -c '
                read -r stat < /proc/$$/stat
                set -- ${stat##*) }
                shift 19
                echo "$$ $1" > "$WATCH/grandchild.new"
                mv "$WATCH/grandchild.new" "$WATCH/grandchild"
                : > "$WATCH/works"
                sleep 60
                printf "%s %s %s\n" "$PITON_ITEM" "$PITON_ATTEMPT" survived >> "$WATCH/log"
            ' &
            wait
            ;;
    esac
    log survived
fi

sleep 0.01
case $prompt in *MEND*) : > "$WATCH/mended" ;; esac
if [ "$PITON_ITEM" = "check/f/make" ] && mkdir "$WATCH/tripped" 2> /dev/null; then
    echo "network error: connection reset by peer"
    log end
    give_back
    exit 1
fi
[ -d work ] || mkdir work
echo "$PITON_ITEM" > "work/$slug"
log end
give_back
printf '{"status":"completed","summary":"%s is done"}\n' "$PITON_ITEM"
