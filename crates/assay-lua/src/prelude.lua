-- The interface of sysbench's scripts. `host` has the functions that assay gives, and `facts` what it knows of the
-- thread. Returns the functions by which assay calls the script.
local host, facts = ...

-- Numbers of requests to the client, as in `requests.rs`.
local CONNECT, DISCONNECT, RECONNECT, QUERY, PREPARE, EXECUTE, CLOSE, PAUSE = 1, 2, 3, 4, 5, 6, 7, 8
-- How the client answers.
local NOTHING, ROWS, REFUSED = 0, 1, 2

local unpack, select, type, setmetatable, pairs, error, pcall = unpack, select, type, setmetatable, pairs, error, pcall
local floor, concat = math.floor, table.concat

-- The client, while assay lends it to a call of the script.
local lent

local function ask(...)
    if not lent then
        error("statements can be sent only in functions that sysbench calls, not while the script is read", 3)
    end
    return lent(...)
end

sysbench = {
    tid = facts.tid,
    version = "1.0.20",
    version_string = "sysbench 1.0.20 (assay)",
    error = { NONE = 0, RESTART_EVENT = 1, IGNORED = 2 },
    hooks = {},
    opt = {},
    cmdline = {
        argv = { [0] = "sysbench", facts.script_path, facts.command },
        command = facts.command,
        script_path = facts.script_path,
        PARALLEL_COMMAND = true,
        ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5, ARG_LIST = 6,
        ARG_FILE = 7, ARG_MAX = 8,
    },
}

-- Statements ------------------------------------------------------------------------------------------------------

local RESTART = sysbench.error.RESTART_EVENT
local sql = {
    error = { NONE = 0, IGNORABLE = 1, FATAL = 2 },
    type = {
        NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7, DATE = 8,
        DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
    },
}
sysbench.sql = sql

local function class(name)
    local methods = {}
    return methods, { __index = methods, __tostring = function() return name end }
end

local driver, of_driver = class("<sql_driver>")
local connection, of_connection = class("<sql_connection>")
local statement, of_statement = class("<sql_statement>")
local result, of_result = class("<sql_result>")
local param, of_param = class("<sql_param>")

function sql.driver(name)
    name = name or facts.driver
    if name ~= facts.driver then
        error("the server is one for the driver '" .. facts.driver .. "', not '" .. tostring(name) .. "'", 2)
    end
    return setmetatable({}, of_driver)
end

function driver:name()
    return facts.driver
end

function driver:connect()
    local answer, number, state, message = ask(CONNECT)
    if answer == REFUSED then
        error("connection creation failed: " .. message, 2)
    end
    return setmetatable({ number = number, driver = self, error = 0, sql_errno = 0, sql_state = "", sql_errmsg = "" },
        of_connection)
end

local of_error = {
    __tostring = function(it)
        return ("SQL error, errno = %d, state = '%s': %s, in `%s`"):format(it.sql_errno, it.sql_state, it.sql_errmsg,
            it.query)
    end,
}

-- Raises the error of a statement: a table that makes sysbench start the event again, or a message.
local function raise(con, query, number, state, message, is_ignorable)
    con.error = is_ignorable and sql.error.IGNORABLE or sql.error.FATAL
    con.sql_errno, con.sql_state, con.sql_errmsg = number, state, message
    local told = { connection = con, query = query, sql_errno = number, sql_state = state, sql_errmsg = message }
    setmetatable(told, of_error)
    if not is_ignorable then
        local hook = sysbench.hooks.sql_error_ignorable
        is_ignorable = hook and hook(told)
    end
    if is_ignorable then
        told.errcode = RESTART
        error(told, 0)
    end
    error(tostring(told), 3)
end

local function number_of(con)
    if not con.number then
        error("attempt to use an already closed connection", 3)
    end
    return con.number
end

-- A result with rows, or nothing.
local function result_of(con, query, answer, a, b, c, d)
    if answer == ROWS then
        return setmetatable({ nrows = a, nfields = b, rows = c, read = 0 }, of_result)
    elseif answer == REFUSED then
        raise(con, query, a, b, c, d)
    end
    return nil
end

function connection:query(text)
    text = tostring(text)
    return result_of(self, text, ask(QUERY, number_of(self), text))
end

function connection:query_row(text)
    local found = self:query(text)
    if not found then
        return nil
    end
    local row = found:fetch_row()
    if not row then
        return nil
    end
    return unpack(row, 1, found.nfields)
end

function connection:prepare(text)
    local answer, number, state, message, is_ignorable = ask(PREPARE, number_of(self), text)
    if answer == REFUSED then
        raise(self, text, number, state, message, is_ignorable)
    end
    return setmetatable({ number = number, connection = self, params = {}, count = 0, values = {} }, of_statement)
end

function connection:disconnect()
    if not self.number then
        error("attempt to close an already closed connection", 2)
    end
    ask(DISCONNECT, self.number)
    self.number = nil
end

function connection:reconnect()
    local answer, _, _, message = ask(RECONNECT, number_of(self))
    if answer == REFUSED then
        error("connection creation failed: " .. message, 2)
    end
end

-- Statements that return several results are read whole, and only the first result is kept.
function connection:more_results()
    return false
end

function connection:next_result()
    return nil
end

function connection:check_error()
end

-- Rows are sent in statements of at most this many bytes, as by sysbench.
local BULK_BYTES = 512 * 1024

function connection:bulk_insert_init(head)
    number_of(self)
    self.bulk = { head = head, rows = {}, count = 0, bytes = #head }
end

local function send_bulk(con)
    local bulk = con.bulk
    if bulk.count > 0 then
        con:query(bulk.head .. " " .. concat(bulk.rows, ",", 1, bulk.count))
        bulk.count, bulk.bytes = 0, #bulk.head
    end
end

function connection:bulk_insert_next(row)
    local bulk = self.bulk
    if not bulk then
        error("attempt to call bulk_insert_next() before bulk_insert_init()", 2)
    end
    if bulk.bytes + #row + 1 > BULK_BYTES then
        send_bulk(self)
    end
    bulk.count = bulk.count + 1
    bulk.rows[bulk.count] = row
    bulk.bytes = bulk.bytes + #row + 1
end

function connection:bulk_insert_done()
    if self.bulk then
        send_bulk(self)
        self.bulk = nil
    end
end

function statement:bind_create(kind, length)
    local is_text = kind == sql.type.CHAR or kind == sql.type.VARCHAR
    local is_integer = kind >= sql.type.TINYINT and kind <= sql.type.BIGINT
    if not is_text and not is_integer and kind ~= sql.type.FLOAT and kind ~= sql.type.DOUBLE then
        error("Unsupported argument type: " .. tostring(kind), 2)
    end
    return setmetatable({ kind = kind, length = length, is_text = is_text, is_integer = is_integer }, of_param)
end

function statement:bind_param(...)
    local count = select("#", ...)
    self.params, self.count = { ... }, count
end

function statement:execute()
    local con, params, values, count = self.connection, self.params, self.values, self.count
    for i = 1, count do
        values[i] = params[i].value
    end
    return result_of(con, "<prepared statement>",
        ask(EXECUTE, number_of(con), self.number, unpack(values, 1, count)))
end

function statement:next_result()
    return nil
end

function statement:close()
    local con = self.connection
    if con.number then
        ask(CLOSE, con.number, self.number)
    end
end

function param:set(value)
    if value == nil then
        self.value = nil
    elseif self.is_text then
        value = tostring(value)
        if self.length and #value > self.length then
            value = value:sub(1, self.length)
        end
        self.value = value
    else
        local number = tonumber(value)
        if not number then
            error("a number is needed, not '" .. tostring(value) .. "'", 2)
        end
        if self.is_integer then
            number = number < 0 and -floor(-number) or floor(number)
        end
        self.value = number
    end
end

function param:set_rand_str(template)
    self.value = host.rand_string(template)
end

function result:fetch_row()
    if not self.rows then
        error("the rows of a prepared statement cannot be read; use query()", 2)
    end
    local at = self.read + 1
    self.read = at
    return self.rows[at]
end

function result:free()
    if self.is_free then
        error("db_free_results() failed: attempt to free an invalid result set", 2)
    end
    self.is_free, self.rows = true, nil
end

-- Random values -----------------------------------------------------------------------------------------------------

sysbench.rand = {
    default = host.rand_default,
    uniform = host.rand_uniform,
    gaussian = host.rand_gaussian,
    special = host.rand_special,
    pareto = host.rand_pareto,
    zipfian = host.rand_zipfian,
    unique = host.rand_unique,
    string = host.rand_string,
    varstring = function(min, max)
        assert(min <= max and max > 0, "varstring needs 0 < max and min <= max")
        return host.rand_varstring(min, max)
    end,
    uniform_double = host.rand_unit,
    uniform_uint64 = host.rand_bits,
}

-- The same on every system, like all that is drawn.
function math.random(low, high)
    if not low then
        return host.rand_unit()
    end
    if not high then
        low, high = 1, low
    end
    assert(low <= high, "interval is empty")
    return low + floor(host.rand_unit() * (floor(high) - low + 1))
end

function math.randomseed()
end

-- Options -----------------------------------------------------------------------------------------------------------

local cmdline = sysbench.cmdline

local function usual_type(default)
    local kind = type(default)
    if kind == "boolean" then
        return cmdline.ARG_BOOL
    elseif kind == "number" then
        return cmdline.ARG_DOUBLE
    elseif kind == "table" then
        return cmdline.ARG_LIST
    end
    return cmdline.ARG_STRING
end

local UNITS = { K = 1024, M = 1024 ^ 2, G = 1024 ^ 3, T = 1024 ^ 4 }

-- The value of an option, or nil if the text is none.
local function value_of(text, kind)
    if kind == cmdline.ARG_BOOL then
        if text == "" or text == "on" or text == "true" or text == "1" then
            return true
        elseif text == "off" or text == "false" or text == "0" then
            return false
        end
        return nil
    elseif kind == cmdline.ARG_INT or kind == cmdline.ARG_DOUBLE then
        return tonumber(text)
    elseif kind == cmdline.ARG_SIZE then
        local digits, unit = text:match("^(%d+)([KMGTkmgt]?)$")
        return digits and tonumber(digits) * (UNITS[unit:upper()] or 1)
    elseif kind == cmdline.ARG_LIST then
        local list = {}
        for part in text:gmatch("[^,]+") do
            list[#list + 1] = part
        end
        return list
    end
    return text
end

local function text_of(value)
    if value == true then
        return "on"
    elseif value == false then
        return "off"
    elseif type(value) == "table" then
        return concat(value, ",")
    end
    return tostring(value)
end

local function key_of(name)
    return (name:gsub("-", "_"))
end

-- Fills `sysbench.opt`, or the globals of scripts that declare no options. Returns the name of an option that does not
-- exist, or one with a value that it cannot have, with the values that it can.
local function take_options(given)
    local opt = sysbench.opt
    for key, value in pairs(facts.options) do
        opt[key] = value
    end
    local declared = cmdline.options
    if declared == nil then
        for _, pair in pairs(given) do
            local value = pair[2]
            if host.is_of_sysbench(pair[1]) then
                return "unknown", pair[1], {}
            end
            _G[key_of(pair[1])] = tonumber(value) or value
            opt[key_of(pair[1])] = tonumber(value) or value
        end
        return nil
    end
    local kinds, names = {}, {}
    for name, it in pairs(declared) do
        if type(name) ~= "string" or type(it) ~= "table" or type(it[1]) ~= "string" then
            error("wrong table structure in sysbench.cmdline.options", 0)
        end
        local key, kind = key_of(name), it[3] or usual_type(it[2])
        kinds[key], names[#names + 1] = kind, (key:gsub("_", "-"))
        local default = it[2]
        if kind == cmdline.ARG_BOOL then
            default = default or false
        elseif default == nil then
            default = ({ [cmdline.ARG_STRING] = "", [cmdline.ARG_LIST] = {} })[kind]
            if default == nil and kind ~= cmdline.ARG_FILE then
                default = 0
            end
        elseif kind ~= cmdline.ARG_LIST and type(default) == "string" then
            default = value_of(default, kind)
        end
        opt[key] = default
    end
    for _, pair in pairs(given) do
        local key = key_of(pair[1])
        local kind = kinds[key]
        if not kind then
            table.sort(names)
            return "unknown", pair[1], names
        end
        local value = value_of(pair[2], kind)
        if value == nil then
            return "value", pair[1], text_of(pair[2])
        end
        opt[key] = value
    end
    return nil
end

function cmdline.read_cmdline_options()
end

function cmdline.print_test_options()
    local names, width = {}, 0
    for name in pairs(cmdline.options or {}) do
        names[#names + 1], width = name, math.max(width, #name)
    end
    table.sort(names)
    for _, name in ipairs(names) do
        local it = cmdline.options[name]
        local default = it[2] ~= nil and (" [" .. text_of(it[2]) .. "]") or ""
        print(("  --%s%s %s%s"):format(name, (" "):rep(width - #name), it[1], default))
    end
end

local function command_of(name)
    local it = (cmdline.commands or {})[name]
    if type(it) == "table" and type(it[1]) == "function" then
        return it[1], it[2] == cmdline.PARALLEL_COMMAND
    end
    return nil
end

function cmdline.command_defined(name)
    return command_of(name) ~= nil
end

function cmdline.command_parallel(name)
    return select(2, command_of(name)) or false
end

function cmdline.call_command(name)
    local it = command_of(name)
    if not it then
        return false
    end
    return it() ~= false
end

-- Reports: assay has its own ----------------------------------------------------------------------------------------

function sysbench.report_default()
end
sysbench.report_csv, sysbench.report_json = sysbench.report_default, sysbench.report_default

sysbench.histogram = {
    new = function()
        error("histograms are not supported; assay reports response times itself", 2)
    end,
}

-- C functions -------------------------------------------------------------------------------------------------------

local counters = {
    SB_CNT_OTHER = 0, SB_CNT_READ = 1, SB_CNT_WRITE = 2, SB_CNT_TRX = 3, SB_CNT_ERROR = 4, SB_CNT_RECONNECT = 5,
    SB_CNT_BYTES_READ = 6, SB_CNT_BYTES_WRITTEN = 7, SB_CNT_MAX = 8,
}
local functions = {
    -- assay counts what servers answer, so what a script counts is not needed.
    sb_counter_inc = function() end,
    usleep = function(us)
        ask(PAUSE, us)
        return 0
    end,
    sleep = function(s)
        ask(PAUSE, s * 1e6)
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

local open, remove, rename, lines = io.open, os.remove, os.rename, io.lines

-- The file that a path stands for, if the script may use it.
local function may(path, what)
    return host.may_use(tostring(path), what)
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
    open = function(path, mode)
        return open(may(path, "open"), mode)
    end,
    lines = function(path)
        return lines(may(path, "open"))
    end,
    write = function(...)
        return output:write(...)
    end,
    type = io.type,
    stdout = output,
    stderr = stream(),
    popen = facts.may_run and io.popen or function()
        host.may_use("", "run a program")
    end,
}

local execute = os.execute
os = {
    time = os.time,
    clock = os.clock,
    date = os.date,
    difftime = os.difftime,
    getenv = function() return nil end,
    remove = function(path)
        return remove(may(path, "remove"))
    end,
    rename = function(from, to)
        return rename(may(from, "rename"), may(to, "rename"))
    end,
    -- Scripts wait in this way.
    execute = function(command)
        local seconds = command and command:match("^%s*sleep%s+(%d+%.?%d*)%s*$")
        if seconds then
            ask(PAUSE, tonumber(seconds) * 1e6)
            return 0
        end
        if not facts.may_run then
            host.may_use(tostring(command), "run")
        end
        return execute(command)
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
package = { loaded = loaded, path = "", cpath = "", preload = {}, loaders = {} }

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

function _G.pcall(...)
    return caught(catch(...))
end

function _G.xpcall(...)
    return caught(catch_with(...))
end

function coroutine.resume(...)
    return caught(resume_raw(...))
end

-- Calls of the script -----------------------------------------------------------------------------------------------

local runner

-- Calls a function while the client is lent.
local function with(client, call, ...)
    lent = client
    return call(...)
end

local calls = {}

function calls.take_options(given)
    return take_options(given)
end

-- Forgets the client, which is lent for one call only.
function calls.give_back()
    lent = nil
end

function calls.has(name)
    return type(_G[name]) == "function" or command_of(name) ~= nil
end

function calls.is_parallel(name)
    return cmdline.command_parallel(name)
end

-- A command: that of the script's own list, or the function of this name. Returns false if it failed.
function calls.command(client, name)
    local it = command_of(name) or _G[name]
    return with(client, it) ~= false
end

-- A function of the script, if there is one.
function calls.optional(client, name)
    local it = _G[name]
    if type(it) == "function" then
        with(client, it, facts.tid)
    end
end

local function carried_out(ok, ends, ...)
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

-- The next event of a script that has a loop of its own.
local function resume()
    if not runner then
        runner = coroutine.create(thread_run)
        -- Up to the first question whether there are more events.
        local ok, why = coroutine.resume(runner, facts.tid)
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
function calls.event(client)
    lent = client
    if thread_run then
        return carried_out(pcall(resume))
    end
    return carried_out(pcall(event, facts.tid))
end

return calls
