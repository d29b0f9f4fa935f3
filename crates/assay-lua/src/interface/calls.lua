-- The functions by which assay calls a script.
local host, facts = ...
local RESTART = sysbench.error.RESTART_EVENT
local type, pcall, error, tostring, coroutine = type, pcall, error, tostring, coroutine
local tid = facts.tid

local calls = { take_options = host.take_options }

function calls.has(name)
    return type(_G[name]) == "function" or host.command_of(name) ~= nil or name == "help"
end

function calls.has_hook(name)
    return type(sysbench.hooks[name]) == "function"
end

function calls.is_parallel(name)
    return sysbench.cmdline.command_parallel(name)
end

-- A command: that of the script's own list, or the function of this name. Returns false if it failed.
function calls.command(name)
    local it = host.command_of(name) or _G[name]
    if type(it) ~= "function" then
        -- Every script has help: the list of its options.
        it = sysbench.cmdline.print_test_options
    end
    return it() ~= false
end

-- A function of the script, if there is one.
function calls.optional(name)
    local it = _G[name]
    if type(it) == "function" then
        it(tid)
    end
end

-- A report, which the script makes of these numbers.
function calls.report(name, stat)
    if name == "report_cumulative" then
        host.end_reports()
    end
    local hook = sysbench.hooks[name]
    if hook then
        hook(stat)
    end
    if name == "report_cumulative" then
        host.end_reports()
    end
end

local function carried_out(ok, ends)
    if ok then
        return ends and 1 or 0
    end
    if type(ends) == "table" and ends.errcode == RESTART then
        local hook = sysbench.hooks.before_restart_event
        if hook then
            hook(ends)
        end
        return 2, ends.sql_errno or 0
    end
    error(ends, 0)
end

local runner

-- The next event of a script that has a loop of its own.
local function resume()
    if not runner then
        runner = coroutine.create(thread_run)
        -- Up to the first question whether there are more events.
        local ok, why = coroutine.resume(runner, tid)
        if not ok then
            error(why, 0)
        end
    end
    if coroutine.status(runner) == "dead" then
        return true
    end
    local ok, why = coroutine.resume(runner, true)
    if not ok then
        -- The loop has ended with the error, so no event can be started again.
        error(tostring(why), 0)
    end
    return coroutine.status(runner) == "dead"
end

-- An event: 0 if it was carried out, 1 if the script has no more, or 2 and the code of the error after which it is to
-- be started again.
function calls.event()
    if thread_run then
        return carried_out(pcall(resume))
    end
    return carried_out(pcall(event, tid))
end

return calls
