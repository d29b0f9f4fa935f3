//! Collections of tests, and options of sysbench's scripts.

use crate::words;

words! {
    /// A collection of tests that assay ships.
    pub enum Suite (default: Micro) {
        /// The published microbenchmarks.
        Micro = "micro",
        /// The scripts of sysbench, over a sweep of client counts.
        Oltp = "oltp",
        /// Five transactions in the manner of TPC-C. Its results are no TPC results.
        Tpcc = "tpcc",
        /// Inserts, deletes and queries of the Insert Benchmark, for `assay count`.
        InsertBench = "insert-bench",
    }
}

words! {
    /// sysbench's names of random distributions.
    pub enum RandType (default: Uniform) {
        /// All ids are equally likely.
        Uniform = "uniform",
        /// Bell curve around the middle.
        Gaussian = "gaussian",
        /// The default of sysbench 1.0: three quarters in the central hundredth, the rest in a bell.
        Special = "special",
        /// Low ids are more likely (Pareto).
        Pareto = "pareto",
        /// Low ids are more likely: the probability falls as a power of the id.
        Zipfian = "zipfian",
    }
}
