
need pgbench "install the package postgresql-contrib or postgresql, or put the directory of pgbench into PATH"

# Measures a turn of side $1, which has number $2, and prints events per second.
measure() {
    side=$1
    seed=$(($2 + 1))
    if [ "$events" = 0 ]; then
        set -- "--time=$TURN"
    else
        set -- "--transactions=$((events / clients))"
    fi
    for script in "$here"/test-*.sql; do
        set -- "$@" "--file=$script"
    done
    PGPASSWORD=$DB_PASSWORD pgbench --no-vacuum "--protocol=$protocol" "--client=$clients" "--jobs=$clients" \
        "--random-seed=$seed" "--host=$(host_of "$side")" "--port=$(port_of "$side")" \
        "--username=$(user_of "$side")" "$@" "$database" >"$work/out" 2>&1 ||
        { cat "$work/out" >&2 && fail "pgbench failed on $side"; }
    sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$work/out" | tail -n 1
}
