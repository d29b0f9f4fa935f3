
stop_signal=INT
maintenance=postgres

# The directory of the programs of a server below directory $1.
find_server() {
    if [ -x "$1/bin/postgres" ]; then
        programs=$1/bin
        return
    fi
    for programs in "$1"/usr/lib/postgresql/*/bin "$1"/lib/postgresql/*/bin; do
        [ ! -x "$programs/postgres" ] || return 0
    done
    fail "there is no bin/postgres below $1"
}

# Whether every user may read the server.
is_for_all() {
    setpriv --reuid=65534 --regid=65534 --clear-groups test -r "$programs/postgres"
}

# Becomes a program of the server. Postgres does not run as root.
as_server() {
    if [ "$(id -u)" != 0 ]; then
        exec "$@"
    fi
    set -- --reuid=65534 --regid=65534 --clear-groups "$@"
    # Below a directory that only root may enter, the server keeps root's right to read files, and no other right.
    if ! is_for_all; then
        set -- --securebits=+no_setuid_fixup --bounding-set=-all,+dac_read_search \
            --inh-caps=-all,+dac_read_search --ambient-caps=-all,+dac_read_search "$@"
    fi
    exec setpriv "$@"
}

start() {
    find_server "$(place_of "$1")"
    mkdir "$work/$1" "$work/$1/data" "$work/$1/run"
    if [ "$(id -u)" = 0 ]; then
        need setpriv "Postgres does not run as root"
        # Who can connect has the rights of the server.
        ! is_for_all || chmod 711 "$work"
        chown 65534:65534 "$work/$1" "$work/$1/data" "$work/$1/run"
    fi
    if ! (
        cd "$work/$1"
        as_server "$programs/initdb" "--pgdata=$work/$1/data" --username=repro --auth=trust --encoding=SQL_ASCII \
            --locale=C --data-checksums -N
    ) >"$work/$1/log" 2>&1; then
        tail -n 20 "$work/$1/log" >&2
        fail "cannot make a data directory with $programs/initdb"
    fi
    cat "$here/$1.postgresql.conf" >>"$work/$1/data/postgresql.conf"
    (
        cd "$work/$1"
        as_server "$programs/postgres" -D "$work/$1/data" "--unix_socket_directories=$work/$1/run" --port=5432 \
            --listen_addresses= --unix_socket_permissions=0700
    ) >"$work/$1/log" 2>&1 &
    servers="$servers $!"
    wait_for "$1" $!
}

socket_of() {
    given=$(given_socket "$1")
    printf '%s\n' "${given:-$work/$1/run/.s.PGSQL.5432}"
}

host_of() {
    socket=$(socket_of "$1")
    printf '%s\n' "${socket%/*}"
}

port_of() {
    socket=$(socket_of "$1")
    printf '%s\n' "${socket##*.}"
}

user_of() {
    if [ -n "$(given_socket "$1")" ]; then
        printf '%s\n' "${DB_USER:-$(id -un)}"
    else
        echo repro
    fi
}

# The plain client on a side and a database, with further options.
client() {
    side=$1
    use=$2
    shift 2
    PGPASSWORD=$DB_PASSWORD "$client" --no-psqlrc --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1 \
        "--host=$(host_of "$side")" "--port=$(port_of "$side")" "--username=$(user_of "$side")" "--dbname=$use" "$@"
}

query() {
    client "$1" "$2" "--command=$3"
}

run_file() {
    client "$1" "$database" "--file=$2"
}

client=${CLIENT:-psql}
need "$client" "install the client of Postgres, or name it in CLIENT"
