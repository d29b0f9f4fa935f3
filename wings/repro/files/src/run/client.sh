
# Measures a turn of side $1, which has number $2, and prints events per second. After the last turn for which there are
# statements, those of the first one come again.
measure() {
    turn=$2
    [ "$2" -le "$turns" ] || turn=$((($2 - 1) % turns + 1))
    began=$(date +%s.%N)
    workers=
    number=1
    while [ "$number" -le "$clients" ]; do
        run_file "$1" "$here/statements/turn-$turn-client-$number.sql" >/dev/null &
        workers="$workers $!"
        number=$((number + 1))
    done
    for pid in $workers; do
        wait "$pid" || fail "the client failed on $1"
    done
    workers=
    awk -v began="$began" -v ended="$(date +%s.%N)" -v events="$events" \
        'BEGIN { printf "%.3f\n", events / (ended - began) }'
}
