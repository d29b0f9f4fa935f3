}

# Measures a turn of side $1, which has number $2, and prints events per second.
measure() {
    if [ "$events" = 0 ]; then
        set -- "$1" "$2" "--time=$TURN"
    else
        set -- "$1" "$2" --time=0 "--events=$events"
    fi
    side=$1
    seed=$(($2 + 1))
    shift 2
    on_side "$side" "--threads=$clients" "--rand-seed=$seed" --report-interval=0 "$@" run >"$work/out" 2>&1 ||
        { cat "$work/out" >&2 && fail "sysbench failed on $side"; }
    sed -n 's/^ *transactions: *[0-9]* *(\([0-9.]*\) per sec.*/\1/p' "$work/out"
}
