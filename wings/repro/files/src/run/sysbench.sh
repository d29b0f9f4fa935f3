
need sysbench "install the package sysbench"

# Runs a command of sysbench on a side, with further options.
on_side() {
    side=$1
    shift
