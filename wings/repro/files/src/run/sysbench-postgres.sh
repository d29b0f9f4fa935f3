    set -- --db-driver=pgsql "--pgsql-host=$(host_of "$side")" "--pgsql-port=$(port_of "$side")" \
        "--pgsql-user=$(user_of "$side")" "--pgsql-password=$DB_PASSWORD" "--pgsql-db=$database" "$@"
