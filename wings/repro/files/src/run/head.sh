set -eu
export LC_ALL=C
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
BASE=${BASE:-}
OTHER=${OTHER:-}
BASE_SOCKET=${BASE_SOCKET:-}
OTHER_SOCKET=${OTHER_SOCKET:-}
DB_USER=${DB_USER:-}
DB_PASSWORD=${DB_PASSWORD:-}
PAIRS=${PAIRS:-10}
TURN=${TURN:-3}
database=assay_repro

say() {
    printf '%s\n' "$1" >&2
}

fail() {
    say "error: $1"
    exit 2
}

need() {
    command -v "$1" >/dev/null 2>&1 || fail "$1 is needed: $2"
}

is_count() {
    case $1 in
        '' | *[!0-9]*) return 1 ;;
        *) [ "$1" -gt 0 ] ;;
    esac
}

# The first of some paths below a directory that exists.
first_of() {
    directory=$1
    shift
    for path; do
        if [ -e "$directory/$path" ]; then
            printf '%s\n' "$directory/$path"
            return 0
        fi
    done
    return 1
}

# Where the server of a side is.
place_of() {
    case $1 in
        base) printf '%s\n' "$BASE" ;;
        *) printf '%s\n' "$OTHER" ;;
    esac
}

# The socket of a side that was given.
given_socket() {
    case $1 in
        base) printf '%s\n' "$BASE_SOCKET" ;;
        *) printf '%s\n' "$OTHER_SOCKET" ;;
    esac
}

# A file of a side, or the one that both sides share.
file_of() {
    if [ -f "$here/$2-$1.sql" ]; then
        printf '%s\n' "$here/$2-$1.sql"
    else
        printf '%s\n' "$here/$2.sql"
    fi
}

# Whether a process that was started here has ended.
has_ended() {
    [ ! -r "/proc/$1/status" ] || grep -q '^State:[[:space:]]*[ZX]' "/proc/$1/status"
}

is_count "$PAIRS" || fail "PAIRS must be a number of pairs, such as 10"
is_count "$TURN" || fail "TURN must be a number of seconds, such as 3"
for side in base other; do
    if [ -z "$(place_of "$side")$(given_socket "$side")" ]; then
        fail "name both servers: BASE=/path/to/one OTHER=/path/to/other $0, or BASE_SOCKET and OTHER_SOCKET for servers that run"
    fi
done

work=$(mktemp -d)
servers=
workers=
made=

# Ends what was started here, and removes what was made.
clean_up() {
    status=$?
    trap - EXIT
    trap '' INT TERM HUP
    for pid in $workers; do
        kill "$pid" 2>/dev/null || true
    done
    for side in $made; do
        query "$side" "$maintenance" "DROP DATABASE $database" >/dev/null 2>&1 || true
    done
    for pid in $servers; do
        kill -"$stop_signal" "$pid" 2>/dev/null || true
    done
    for pid in $servers; do
        wait "$pid" 2>/dev/null || true
    done
    rm -rf -- "$work"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
