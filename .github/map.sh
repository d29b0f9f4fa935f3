#!/usr/bin/env bash
# Counts three of the rows that were added to the map since a commit, which is the argument. Run it in the repository.
set -euo pipefail

base=$1
rows=$(mktemp -d)
for file in map/mariadb.csv map/mysql.csv map/postgres.csv; do
    head -n 1 "$file" > "$rows/${file##*/}"
    # Added lines, without the headings of the diff and of the file.
    git diff --unified=0 "$base" -- "$file" | sed -n '/^+++/d; /^+product,/d; s/^+//p' >> "$rows/${file##*/}"
done
if [ "$(cat "$rows"/*.csv | wc -l)" = 3 ]; then
    echo "no rows were added"
    exit
fi
cargo build --quiet --release --package assay
exec target/release/assay map check --random 3 --seed "${GITHUB_RUN_ID:-1}" --dir "$rows"
