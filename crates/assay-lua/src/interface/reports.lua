-- Reports that scripts choose for themselves, and histograms.
local host, facts = ...
local select, type, error, assert = select, type, error, assert
local floor, max, log, exp = math.floor, math.max, math.log, math.exp

local function per_s(stat, count)
    return count / max(stat.time_interval, 1e-9)
end

-- The numbers of a report in the order of its lines.
local function rates(stat)
    local reads, writes, other = per_s(stat, stat.reads), per_s(stat, stat.writes), per_s(stat, stat.other)
    return per_s(stat, stat.events), reads + writes + other, reads, writes, other, stat.latency_pct * 1000,
        per_s(stat, stat.errors), per_s(stat, stat.reconnects)
end

function sysbench.report_default(stat)
    local tps, qps, reads, writes, other, latency, errors, reconnects = rates(stat)
    print(("[ %.0fs ] thds: %d tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) " ..
        "lat (ms,%d%%): %4.2f err/s %4.2f reconn/s: %4.2f"):format(stat.time_total, stat.threads_running, tps, qps,
            reads, writes, other, sysbench.opt.percentile, latency, errors, reconnects))
end

function sysbench.report_csv(stat)
    print(("%.0f,%d,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f")
        :format(stat.time_total, stat.threads_running, rates(stat)))
end

local JSON = [[
  {
    "time": %4.0f,
    "threads": %d,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
]]

-- An array for the reports of intervals, and one for that of the whole run.
local is_open = false
function sysbench.report_json(stat)
    -- What closes a report comes with the next one, because only that decides on a comma.
    host.say((is_open and "  },\n" or "[\n") .. JSON:format(stat.time_total, stat.threads_running, rates(stat)))
    is_open = true
end

function host.end_reports()
    if is_open then
        host.say("  }\n]\n")
        is_open = false
    end
end

-- Histograms --------------------------------------------------------------------------------------------------------

-- The widest bar.
local BAR = 40
-- Most buckets.
local BUCKETS_MAX = 1000000

local histogram = {}
local of_histogram = { __index = histogram, __tostring = function() return "<sb_histogram>" end }

-- Buckets between two values, each as much wider than the one before as all others.
local function new(buckets, low, high)
    buckets = floor(buckets)
    assert(buckets > 1 and buckets <= BUCKETS_MAX, "a histogram has 2 to 1000000 buckets")
    assert(low > 0 and high > low, "a histogram goes from a value above 0 to a larger one")
    local step = (log(high) - log(low)) / (buckets - 1)
    return setmetatable({ buckets = buckets, low = low, high = high, step = step, counts = {} }, of_histogram)
end

function histogram:update(value)
    local at = 0
    if value > self.low then
        at = floor((log(value) - log(self.low)) / self.step + 0.5)
    end
    at = at < self.buckets and at or self.buckets - 1
    self.counts[at] = (self.counts[at] or 0) + 1
end

function histogram:print()
    local most = 0
    for _, count in pairs(self.counts) do
        most = max(most, count)
    end
    if most == 0 then
        return
    end
    print("       value  ------------- distribution ------------- count")
    for at = 0, self.buckets - 1 do
        local count = self.counts[at]
        if count then
            local bar = ("*"):rep(floor(count / most * BAR + 0.5))
            print(("%12.3f |%-40s %d"):format(exp(log(self.low) + at * self.step), bar, count))
        end
    end
end

sysbench.histogram = { new = new }
