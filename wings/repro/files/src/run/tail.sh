
# Waits until a server answers.
wait_for() {
    waited=0
    until query "$1" "$maintenance" 'SELECT 1' >/dev/null 2>&1; do
        if has_ended "$2" || [ "$waited" -ge 120 ]; then
            tail -n 20 "$work/$1/log" >&2
            query "$1" "$maintenance" 'SELECT 1' >&2 || true
            fail "the server of $1 does not answer"
        fi
        sleep 1
        waited=$((waited + 1))
    done
}

# Fills a new database of a side.
load() {
    query "$1" "$maintenance" "CREATE DATABASE $database" >/dev/null ||
        fail "cannot create the database $database on $1; drop it if it is left from an earlier run"
    case " $made " in
        *" $1 "*) ;;
        *) made="$made $1" ;;
    esac
    run_file "$1" "$(file_of "$1" schema)" >/dev/null || fail "cannot create the tables on $1"
    run_file "$1" "$here/data.sql" >/dev/null || fail "cannot load the data on $1"
}

# Measures a first turn of each side, which does not count.
warm_up() {
    for side in base other; do
        measure "$side" 0 >/dev/null
    done
}

for side in base other; do
    if [ -z "$(given_socket "$side")" ]; then
        say "starting $side: $(place_of "$side")"
        start "$side"
    fi
    say "loading $side"
    load "$side"
done
say "a first turn of each, which does not count"
warm_up
printf 'pair  base/s  other/s  ratio\n'
pair=1
while [ "$pair" -le "$PAIRS" ]; do
    if [ "$lasts" -gt 0 ] && [ "$pair" -gt 1 ] && [ $(((pair - 1) % lasts)) = 0 ]; then
        say "loading the data again, which the test has changed"
        for side in base other; do
            query "$side" "$maintenance" "DROP DATABASE $database" >/dev/null ||
                fail "cannot drop the database $database on $side"
            load "$side"
        done
        warm_up
    fi
    of_base=$(measure base "$pair")
    of_other=$(measure other "$pair")
    awk -v pair="$pair" -v base="$of_base" -v other="$of_other" 'BEGIN {
        if (base + 0 <= 0 || other + 0 <= 0) exit 1
        printf "%4d  %6.6g  %7.6g  %.4f\n", pair, base, other, other / base
    }' >"$work/line" || fail "nothing was measured in pair $pair"
    cat "$work/line"
    cat "$work/line" >>"$work/pairs"
    pair=$((pair + 1))
done

# The median of the ratios, the lowest and the highest. There is a direction if chance alone would put as
# many pairs on one side of 1 in at most one of sixteen runs: 4 of 4, 8 of 10, 20 of 30.
sort -k4,4n "$work/pairs" | awk -v measured="$measured" -v expected="$expected" '
    { ratio[NR] = $4; slower += $4 < 1; faster += $4 > 1 }
    END {
        median = NR % 2 ? ratio[(NR + 1) / 2] : (ratio[NR / 2] + ratio[NR / 2 + 1]) / 2
        clear = 1.75 * sqrt(NR)
        direction = slower - faster >= clear ? "slower" : faster - slower >= clear ? "faster" : "unclear"
        most = slower > faster ? slower : faster
        said = direction == "unclear" ? "no clear direction" : "OTHER is " direction " than BASE in " most " of " NR " pairs"
        printf "ratio %.3f (%.3f to %.3f): %s\n", median, ratio[1], ratio[NR], said
        printf "assay measured %s\n", measured
        if (direction == "unclear") print "the same, or too noisy to say: PAIRS=" 3 * NR " measures longer"
        else if (expected == "unclear") print "assay gave no direction"
        else if (direction == expected) print "the direction is the same"
        else print "the direction is not that of assay"
    }'
