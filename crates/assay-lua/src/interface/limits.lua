-- What scripts may do beside sending statements: C functions, files, programs and modules, within limits.
local host, facts = ...
local select, type, pairs, error, pcall, xpcall = select, type, pairs, error, pcall, xpcall
local concat, getmetatable, tostring, tonumber = table.concat, getmetatable, tostring, tonumber
local match = string.match

-- Long calls --------------------------------------------------------------------------------------------------------

-- A call of some functions cannot be ended, so the clock is read before one that may take long, and its place noted.
local look = host.look

-- The least product of the lengths of a text and of a pattern, or bytes, or elements, that may take long.
local MANY = 1000

local function with_look(library, name, is_long)
    local it = library[name]
    library[name] = function(a, b, ...)
        if is_long(a, b) then
            look()
        end
        return it(a, b, ...)
    end
end

local function is_hard_match(text, pattern)
    return type(text) == "string" and type(pattern) == "string" and #text * #pattern > MANY
end

local function is_long_table(list)
    return type(list) == "table" and #list > MANY
end

for _, name in pairs({ "find", "match", "gmatch", "gsub" }) do
    with_look(string, name, is_hard_match)
end
with_look(string, "rep", function(text, count)
    return type(text) == "string" and type(count) == "number" and #text * count > MANY
end)
with_look(table, "concat", is_long_table)
with_look(table, "sort", is_long_table)

-- The finalizer of a proxy could not be ended.
function newproxy()
    error("newproxy() is not supported", 2)
end

-- C functions -------------------------------------------------------------------------------------------------------

local counters = {
    SB_CNT_OTHER = 0, SB_CNT_READ = 1, SB_CNT_WRITE = 2, SB_CNT_TRX = 3, SB_CNT_ERROR = 4, SB_CNT_RECONNECT = 5,
    SB_CNT_BYTES_READ = 6, SB_CNT_BYTES_WRITTEN = 7, SB_CNT_MAX = 8,
}
local functions = {
    -- assay counts what servers answer, so what a script counts is not needed.
    sb_counter_inc = function() end,
    usleep = function(us)
        host.pause(us)
        return 0
    end,
    sleep = function(s)
        host.pause(s * 1e6)
        return 0
    end,
    sb_rand_default = host.rand_default,
    sb_rand_uniform = host.rand_uniform,
    sb_rand_gaussian = host.rand_gaussian,
    sb_rand_special = host.rand_special,
    sb_rand_pareto = host.rand_pareto,
    sb_rand_zipfian = host.rand_zipfian,
    sb_rand_unique = host.rand_unique,
    sb_rand_uniform_double = host.rand_unit,
    sb_rand_uniform_uint64 = host.rand_bits,
    -- A script's own `thread_run` stops here until the next event is to be carried out.
    sb_more_events = function()
        return coroutine.yield()
    end,
    sb_event_start = function() end,
    sb_event_stop = function() end,
}
for name, value in pairs(counters) do
    functions[name] = value
end

local function no_memory(name)
    return function()
        error("ffi." .. name .. "() is not supported: scripts have no access to memory", 2)
    end
end

ffi = {
    os = "Linux",
    arch = "x64",
    cdef = function() end,
    string = tostring,
    C = setmetatable({}, {
        __index = function(_, name)
            local found = functions[name]
            if found == nil then
                error("the C function `" .. tostring(name) .. "` is not supported", 2)
            end
            return found
        end,
    }),
}
for _, name in pairs({ "new", "cast", "typeof", "metatype", "gc", "copy", "fill", "sizeof", "load", "addressof" }) do
    ffi[name] = no_memory(name)
end

-- Files and programs ------------------------------------------------------------------------------------------------

local may_use_all = facts.may_use_all
-- Those of `host` leave the directory of the script for nothing.
local open = may_use_all and io.open or host.open
local remove = may_use_all and os.remove or host.remove
local rename = may_use_all and os.rename or host.rename

local function run_nothing(what)
    error("the script wants to run " .. what .. ", and may use nothing outside of the script's directory", 3)
end

-- The lines of a file, which is closed after the last one.
local function lines(path, ...)
    if path == nil then
        error("io.lines() without a file is not supported", 2)
    end
    local file, why = open(path)
    if not file then
        error(why, 2)
    end
    local next_line = file:lines(...)
    return function()
        local line = next_line()
        if line == nil then
            file:close()
        end
        return line
    end
end

-- A program that the script reads from or writes to.
local function popen(command, mode)
    if not may_use_all then
        run_nothing("a program")
    end
    mode = mode or "r"
    if mode ~= "r" and mode ~= "w" then
        error("`" .. tostring(mode) .. "` is no mode of io.popen", 2)
    end
    local path, program = host.start(tostring(command), mode)
    local file = open(path, mode)
    host.started(program)
    local it = {}
    for _, name in pairs({ "read", "write", "lines", "flush", "setvbuf", "seek" }) do
        it[name] = function(_, ...)
            return file[name](file, ...)
        end
    end
    function it.close()
        file:close()
        host.wait_for(program)
        return true
    end
    return it
end

function print(...)
    local texts = {}
    for i = 1, select("#", ...) do
        texts[i] = tostring((select(i, ...)))
    end
    host.say(concat(texts, "\t") .. "\n")
end

local function stream()
    local it = {}
    function it:write(...)
        for i = 1, select("#", ...) do
            host.say(tostring((select(i, ...))))
        end
        return it
    end
    function it:flush() end
    function it:setvbuf() end
    function it:close() end
    return it
end

local output = stream()
io = {
    open = open,
    lines = lines,
    popen = popen,
    write = function(...)
        return output:write(...)
    end,
    type = io.type,
    stdout = output,
    stderr = stream(),
}

-- Seconds of the units of `sleep`.
local SECONDS = { [""] = 1, s = 1, m = 60, h = 3600, d = 86400 }

os = {
    time = os.time,
    clock = os.clock,
    date = os.date,
    difftime = os.difftime,
    getenv = function() return nil end,
    remove = remove,
    rename = rename,
    tmpname = may_use_all and os.tmpname or nil,
    -- Scripts wait in this way. Nothing but the wait needs a permission, because no program carries it out.
    execute = function(command)
        if command == nil then
            return may_use_all and 1 or 0
        end
        command = tostring(command)
        local time = match(command, "^%s*sleep%s+(%S+)%s*$")
        local number, unit = match(time or "", "^([%d.]+)([smhd]?)$")
        local seconds = tonumber(number)
        if seconds then
            host.pause(seconds * SECONDS[unit] * 1e6)
            return 0
        elseif time then
            -- As the program ends that waits.
            return 256
        elseif not may_use_all then
            run_nothing("`" .. command .. "`")
        end
        return host.run(command)
    end,
    exit = function(code)
        error("the script ends with os.exit(" .. tostring(code or 0) .. ")", 2)
    end,
}

debug = {
    traceback = function(message)
        return message
    end,
    getinfo = function()
        return { source = "@" .. facts.script_path, short_src = facts.script_path, currentline = 0 }
    end,
}

-- Compiled loops could not be ended, so nothing is compiled.
local function nothing() end
jit = { version = jit.version, os = jit.os, arch = jit.arch, on = nothing, off = nothing, flush = nothing,
    status = function() return false end }

-- Modules -----------------------------------------------------------------------------------------------------------

local loaded = package.loaded
loaded.ffi, loaded.jit = ffi, jit
for _, name in pairs({ "jit.opt", "jit.util", "jit.profile", "string.buffer" }) do
    loaded[name] = nil
end
loaded.io, loaded.os, loaded.debug = io, os, debug
for _, name in pairs({ "sysbench", "sysbench.sql", "sysbench.rand", "sysbench.cmdline", "sysbench.histogram" }) do
    loaded[name] = name == "sysbench" and sysbench or sysbench[name:sub(10)] or true
end
-- Lua's own loaders would read files from anywhere, and compiled code, which can do anything.
package = { loaded = loaded, path = "", cpath = "", preload = {}, loaders = {} }
loaded.package = package

function require(name)
    local found = loaded[name]
    if found ~= nil then
        return found
    end
    loaded[name] = true
    local value = host.module(name)(name)
    if value ~= nil then
        loaded[name] = value
    end
    return loaded[name]
end

function dofile(path)
    return host.file(path)()
end

function loadfile(path)
    local ok, found = pcall(host.file, path)
    if ok then
        return found
    end
    return nil, tostring(found)
end

function loadstring(text, name)
    local ok, found = pcall(host.compile, text, name or text)
    if ok then
        return found
    end
    return nil, tostring(found)
end

function load(source, name)
    if type(source) == "function" then
        local parts = {}
        for part in source do
            if part == nil or part == "" then
                break
            end
            parts[#parts + 1] = part
        end
        source = concat(parts)
    end
    return loadstring(source, name)
end

-- Errors are caught as usual, except that a script which does not end cannot catch that.
local function caught(ok, ...)
    if not ok and host.is_over() then
        error((...), 0)
    end
    return ok, ...
end

local catch, catch_with, resume_raw = pcall, xpcall, coroutine.resume
local create = coroutine.create

function _G.pcall(...)
    return caught(catch(...))
end

function _G.xpcall(...)
    return caught(catch_with(...))
end

-- Coroutines that run within others. Each takes some of the stack, which no error can give back.
local nested = 0
local NESTED_MAX = 100

local function after_nested(...)
    nested = nested - 1
    return ...
end

function coroutine.resume(...)
    if nested >= NESTED_MAX then
        error("more than " .. NESTED_MAX .. " coroutines run within each other", 2)
    end
    nested = nested + 1
    return caught(after_nested(resume_raw(...)))
end

local function values_of(ok, ...)
    if not ok then
        error((...), 0)
    end
    return ...
end

function coroutine.wrap(work)
    local thread = create(work)
    return function(...)
        return values_of(coroutine.resume(thread, ...))
    end
end
