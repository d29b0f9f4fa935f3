-- The functions by which assay calls a script.
local host, facts = ...
local RESTART = sysbench.error.RESTART_EVENT
local type, xpcall, error, tostring, coroutine = type, xpcall, error, tostring, coroutine
local getmetatable, pairs, concat = getmetatable, pairs, table.concat
local tid = facts.tid

local calls = { take_options = host.take_options }

-- Most fields of an error value that are told.
local TOLD = 10

-- An error as a text, unless it comes from assay itself.
local function in_words(why)
    local kind = type(why)
    if kind == "string" or kind == "userdata" then
        return why
    elseif why == nil then
        return "the script called `error` without a message"
    end
    local meta = getmetatable(why)
    if kind ~= "table" or (type(meta) == "table" and meta.__tostring) then
        return tostring(why)
    end
    local fields = {}
    for key, value in pairs(why) do
        if #fields < TOLD then
            fields[#fields + 1] = tostring(key) .. " = " .. tostring(value)
        end
    end
    return "the script raised a table as its error: { " .. concat(fields, ", ") .. " }"
end

-- Notes where an error is raised.
local function note(why)
    host.note_failure()
    return why
end

-- Calls a function of the script.
function calls.carry_out(it, ...)
    local ok, result = xpcall(it, note, ...)
    if not ok then
        error(in_words(result), 0)
    end
    return result
end

local carry_out = calls.carry_out

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
    return carry_out(it) ~= false
end

-- A function of the script, if there is one.
function calls.optional(name)
    local it = _G[name]
    if type(it) == "function" then
        carry_out(it, tid)
    end
end

-- A function that is called once for all threads, if there is one.
function calls.once(name)
    local it = _G[name]
    if type(it) == "function" then
        carry_out(it)
    end
end

-- A report, which the script makes of these numbers.
function calls.report(name, stat)
    if name == "report_cumulative" then
        host.end_reports()
    end
    local hook = sysbench.hooks[name]
    if hook then
        carry_out(hook, stat)
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
    error(in_words(ends), 0)
end

local runner

-- The next event of a script that has a loop of its own.
local function resume()
    if not runner then
        runner = coroutine.create(thread_run)
        -- Up to the first question whether there are more events.
        local ok, why = coroutine.resume(runner, tid)
        if not ok then
            error(in_words(why), 0)
        end
    end
    if coroutine.status(runner) == "dead" then
        return true
    end
    local ok, why = coroutine.resume(runner, true)
    if not ok then
        -- The loop has ended with the error, so no event can be started again.
        error(in_words(why), 0)
    end
    return coroutine.status(runner) == "dead"
end

-- An event: 0 if it was carried out, 1 if the script has no more, or 2 and the code of the error after which it is to
-- be started again.
function calls.event()
    if thread_run then
        return carried_out(xpcall(resume, note))
    end
    return carried_out(xpcall(event, note, tid))
end

return calls
