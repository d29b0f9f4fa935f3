# Reads a study with R: `assay report latest --format csv -o study.csv`. It needs no packages.

# A row is one system in one cell.
options(width = 120)
cells <- read.csv("study.csv", na.strings = "")
cells$is_base <- tolower(cells$is_base) == "true"
base <- cells$system[cells$is_base][1]
cat(cells$study[1], ": ", paste(unique(cells$system), collapse = ", "), "; the base is ", base, "\n\n", sep = "")

# Test, clients, tables and rows identify a cell. These columns tell the cells of this study apart.
varies <- function(name) length(unique(cells[[name]])) > 1
cell <- c("test", Filter(varies, c("clients", "tables", "rows")))
keys <- c(cell, "system")
show <- function(rows) {
  print(rows, row.names = FALSE)
  cat("\n")
}

# Which tests are slower? Changes of QPS in percent, with their 95% intervals.
others <- cells[!cells$is_base, ]
change <- setNames(
  cbind(
    others[keys],
    round(100 * (others[c("rqps", "rqps_low", "rqps_high")] - 1), 1),
    others["verdict"]
  ),
  c(keys, "percent", "low", "high", "verdict")
)
show(change)

# The same as a picture.
svg("change.svg", width = 8, height = 2 + 0.4 * nrow(change))
par(mar = c(4, 22, 1, 1))
place <- rev(seq_len(nrow(change)))
plot(change$percent, place,
  pch = 19, yaxt = "n", ylab = "", xlab = paste0("QPS against ", base, ", %"),
  xlim = range(change$low, change$high, finite = TRUE),
  panel.first = abline(v = 0, col = "grey")
)
segments(change$low, place, change$high, place)
axis(2, at = place, labels = do.call(paste, c(change[keys], sep = ", ")), las = 1)
invisible(dev.off())

# Response times of events in microseconds. Percentiles have no interval: compare with those of the twin.
quantiles <- c("avg", "p50", "p95", "p99", "max")
latency <- cells[paste0("latency_", quantiles, "_us")]
latency <- cbind(cells[keys], setNames(round(latency, 1), quantiles))
of_base <- latency[latency$system == base, ]
place <- match(do.call(paste, latency[cell]), do.call(paste, of_base[cell]))
latency$p95_ratio <- round(latency$p95 / of_base$p95[place], 2)
show(latency)

# CPU time of the server per operation in microseconds; *slower* means more.
cpu <- cbind(
  cells[keys],
  cpu_us = round(cells$server_cpu_us, 1),
  round(cells[c("cpu_ratio", "cpu_ratio_low", "cpu_ratio_high")], 2),
  verdict = cells$cpu_verdict
)
show(setNames(cpu, c(keys, "cpu_us", "ratio", "low", "high", "verdict")))

# Changes of the time per operation, and of the parts that add up to it, in microseconds.
terms <- others[grepl("^change_.*_us$", names(others)) & colSums(!is.na(others)) > 0]
names(terms) <- sub("^change_(.*)_us$", "\\1", names(terms))
show(cbind(others[keys], round(terms, 1)))
