
stop_signal=TERM
maintenance=mysql

# The programs and directories of a server below directory $1.
find_server() {
    server=$(first_of "$1" usr/sbin/mariadbd usr/sbin/mysqld bin/mariadbd bin/mysqld sbin/mariadbd sbin/mysqld) ||
        fail "there is no mariadbd or mysqld below $1"
    share=$(first_of "$1" usr/share/mysql/charsets usr/share/mariadb/charsets share/mysql/charsets \
        share/mariadb/charsets share/charsets) || fail "there is no directory charsets below $1"
    share=${share%/charsets}
    plugins=$(first_of "$1" usr/lib/mysql/plugin lib/plugin lib/mysql/plugin lib64/mysql/plugin) || plugins=
    basedir=$1
    case $server in
        "$1"/usr/*) basedir=$1/usr ;;
    esac
    # Unpacked packages may bring the C library that they need.
    loader=
    case $1 in
        / | /usr | /usr/local) ;;
        *)
            loader=$(first_of "$1" runtime/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 \
                usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 lib/x86_64-linux-gnu/ld-linux-x86-64.so.2) || loader=
            ;;
    esac
    libraries=
    for path in lib/private lib libs runtime/usr/lib/x86_64-linux-gnu runtime/lib/x86_64-linux-gnu \
        usr/lib/x86_64-linux-gnu lib/x86_64-linux-gnu usr/lib/x86_64-linux-gnu/gperftools; do
        [ ! -d "$1/$path" ] || libraries=$libraries${libraries:+:}$1/$path
    done
}

# Becomes the server that was found.
run_server() {
    if [ -n "$loader" ]; then
        exec "$loader" --library-path "$libraries" "$server" "$@"
    fi
    exec "$server" "$@"
}

# Becomes the server with the configuration and the directories of side $1, and more options.
run_side() {
    side=$1
    shift
    [ -z "$plugins" ] || set -- "--plugin-dir=$plugins" "$@"
    [ "$(id -u)" != 0 ] || set -- --user=root "$@"
    run_server "--defaults-file=$here/$side.my.cnf" "--basedir=$basedir" "--datadir=$work/$side/data" \
        "--tmpdir=$work/$side/tmp" "--lc-messages-dir=$share" "--character-sets-dir=$share/charsets" "$@"
}

# The statements that make the system tables where the server does not do it by itself.
system_tables() {
    case $1 in
        *MariaDB*)
            printf '%s;\n' 'create database if not exists mysql' 'use mysql' 'SET @auth_root_socket=NULL' \
                'SET @skip_auth_anonymous=1'
            for name in system_tables performance_tables system_tables_data gis sys_schema; do
                case $name in
                    gis) script=$(first_of "$share" maria_add_gis_sp_bootstrap.sql) || continue ;;
                    *) script=$(first_of "$share" "mariadb_$name.sql" "mysql_$name.sql") || continue ;;
                esac
                cat "$script"
                echo
            done
            ;;
        *)
            echo 'use mysql;'
            cat "$share/mysql_system_tables.sql" "$share/mysql_system_tables_data.sql"
            echo "DELETE FROM mysql.user WHERE User='';"
            ;;
    esac
}

initialize() {
    said=$(run_server --no-defaults --version 2>&1) || fail "cannot run $server: $said"
    case $said in
        *MariaDB* | *' Ver 5.5.'* | *' Ver 5.6.'*)
            mkdir "$work/$1/data/mysql"
            system_tables "$said" >"$work/$1/bootstrap.sql"
            case $said in
                *MariaDB*) engine=--loose-enforce-storage-engine= ;;
                *) engine=--default-storage-engine=myisam ;;
            esac
            (run_side "$1" --bootstrap "$engine" --max-allowed-packet=8M --net-buffer-length=16K) \
                <"$work/$1/bootstrap.sql" >"$work/$1/log" 2>&1
            ;;
        *) (run_side "$1" --initialize-insecure) >"$work/$1/log" 2>&1 ;;
    esac
}

socket_of() {
    given=$(given_socket "$1")
    printf '%s\n' "${given:-$work/$1/s}"
}

user_of() {
    printf '%s\n' "${DB_USER:-root}"
}

start() {
    find_server "$(place_of "$1")"
    mkdir "$work/$1" "$work/$1/data" "$work/$1/tmp"
    if ! initialize "$1"; then
        tail -n 20 "$work/$1/log" >&2
        fail "cannot make a data directory for $server"
    fi
    run_side "$1" "--socket=$work/$1/s" "--pid-file=$work/$1/pid" --skip-networking >"$work/$1/log" 2>&1 &
    servers="$servers $!"
    wait_for "$1" $!
}

# The plain client on a side and a database, with further options.
client() {
    side=$1
    use=$2
    shift 2
    MYSQL_PWD=$DB_PASSWORD "$client" --no-defaults "--socket=$(socket_of "$side")" "--user=$(user_of "$side")" \
        --default-character-set=utf8mb4 --binary-mode --batch --quick --skip-column-names "$@" "$use"
}

query() {
    client "$1" "$2" --execute="$3"
}

run_file() {
    client "$1" "$database" <"$2"
}

# The same client for both sides, so that it takes the same time.
find_client() {
    client=${CLIENT:-}
    for name in mariadb mysql "$BASE/bin/mysql" "$OTHER/bin/mysql" "$BASE/bin/mariadb" "$OTHER/bin/mariadb"; do
        [ -n "$client" ] || ! command -v "$name" >/dev/null 2>&1 || client=$name
    done
    [ -n "$client" ] || fail "the client mysql or mariadb is needed: install it, or name it in CLIENT"
}
find_client
