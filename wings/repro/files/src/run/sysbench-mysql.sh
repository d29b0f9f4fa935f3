    set -- --db-driver=mysql "--mysql-socket=$(socket_of "$side")" "--mysql-user=$(user_of "$side")" \
        "--mysql-password=$DB_PASSWORD" "--mysql-db=$database" "$@"
