#!/usr/bin/env bash
# Makes ledgers of all kinds with a program, by which another version of assay can be compared with this one: the same
# slices must give the same numbers and verdicts.
#
#     golden/make.sh PROGRAM DIRECTORY [NAME...]
#
# Each ledger is DIRECTORY/NAME/ledger.db. Those that exist stay as they are. It takes 20 minutes; servers come from
# package indexes, of which the one with mysql@9.7 may have expired.
set -u
program=$(realpath "$1")
directory=$(realpath -m "$2")
shift 2
names=" $* "
inputs=$(dirname "$(realpath "$0")")/inputs
workloads=$inputs/../../workloads
# Searches and watches are found again in the user's state.
XDG_STATE_HOME=$directory/state
export XDG_STATE_HOME
mkdir -p "$XDG_STATE_HOME"

make() {
    local name=$1
    shift
    if [ "$names" != "  " ] && [[ "$names" != *" $name "* ]] || [ -s "$directory/$name/ledger.db" ]; then
        return
    fi
    mkdir -p "$directory/$name"
    ASSAY_LEDGER=$directory/$name/ledger.db "$program" "$@" \
        >"$directory/$name/out.txt" 2>"$directory/$name/err.txt" </dev/null
    echo "$name: exit code $?"
}

mariadb=(mariadb@10.11 mariadb@11.8)
mysql=(mysql@8.0.33 mysql@9.7 --accept-expired-index)
smoke=(--preset smoke --budget)
make micro compare "${mariadb[@]}" "${smoke[@]}" 60s
make ranking compare mariadb@11.8 "${mysql[@]}" postgres@17 "${smoke[@]}" 60s --twin \
    --tests 'point*,update*,scan,insert'
make clients compare "${mariadb[@]}" "${smoke[@]}" 60s --clients 1,2 --tests 'points*,update-one,delete' --check
make oltp compare "${mariadb[@]}" "${smoke[@]}" 45s --suite oltp \
    --tests 'oltp_read*,oltp_write_only,select_random_points'
make tpcc compare postgres@16 postgres@17 "${smoke[@]}" 40s --suite tpcc
make pgbench compare postgres@16 postgres@17+work_mem=8MB "${smoke[@]}" 30s --workload tpcb-like,select-only
make workload compare "${mysql[@]}" "${smoke[@]}" 45s --workload "$workloads/shop.toml" --profile
make plans compare mariadb@10.11 mariadb@10.11+optimizer_switch=index_merge=off "${smoke[@]}" 60s \
    --workload "$inputs/either.toml" --explain-terms
make failing compare mariadb@10.11 mysql@8.0.33 "${smoke[@]}" 30s --workload "$inputs/one-side.toml"
make sequential compare "${mariadb[@]}" --preset published --rows 20000 --key slice=5s \
    --tests 'points-covered-pk,scan,update-one'
make counted compare "${mariadb[@]}" "${smoke[@]}" 40s --count --rows 10k --tests 'points-covered-pk,update-one'
make profile compare "${mariadb[@]}" "${smoke[@]}" 40s --profile=all --tests 'points-covered-pk,update-one'
make soak compare "${mariadb[@]}" "${smoke[@]}" 40s --soak 30s --tests 'points-covered-pk,points-covered-si'
make count count "${mariadb[@]}" --rows 10k --tests 'points-covered-pk,scan'
make ibench insert-bench "${mysql[@]}" --preset smoke --rows 200k,40k,4k
make upgrade upgrade "${mysql[@]}" "${smoke[@]}" 60s --writes --queries "$inputs/slow.log" \
    --schema "$inputs/dump.sql"
make gate gate --base mariadb@10.11 --other mariadb@11.8 --max-slowdown 5% "${smoke[@]}" 40s \
    --tests 'points*,update-one'
make bisect bisect mariadb@10.11..11.8 --test points-covered-pk --count --rows 10000
make watch watch "$inputs/watch.toml"
make lua compare "${mariadb[@]}" "${smoke[@]}" 40s --workload "$workloads/tpcc.lua" -- \
    --warehouses=1 --items=1000 --customers=30
make shard-1 run "$inputs/shards.toml" --shard 1/2
make shard-2 run "$inputs/shards.toml" --shard 2/2
make shards collect --dir "$directory/shard-1" --dir "$directory/shard-2"
make imported import sysbench "a=$inputs/sysbench-a.txt" "b=$inputs/sysbench-b.txt"
