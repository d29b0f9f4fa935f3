-- Connections, statements and random values, as sysbench's scripts know them. `host` has the functions that assay
-- gives, and `facts` what it knows of the thread.
local host, facts = ...

-- How the client answers, as in `requests.rs`.
local ROWS, REFUSED = 1, 2

local unpack, select, setmetatable, error, tostring = unpack, select, setmetatable, error, tostring
local floor, concat = math.floor, table.concat
local query, execute = host.query, host.execute
local newproxy, pcall, getmetatable, collectgarbage = newproxy, pcall, getmetatable, collectgarbage

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
    if name == "" then
        name = facts.driver
    end
    if name ~= facts.driver then
        error("the server is one for the driver '" .. facts.driver .. "', not '" .. tostring(name) .. "'", 2)
    end
    return setmetatable({}, of_driver)
end

function driver:name()
    return facts.driver
end

-- Raises the error of a client that could not connect.
local function not_connected(level)
    local _, _, message = host.refusal()
    error("connection creation failed: " .. message, level + 1)
end

-- Closes a connection that the script has lost without closing it, as sysbench does.
local function closing(con)
    local proxy = newproxy(true)
    local held = con.held
    getmetatable(proxy).__gc = function()
        if held.number then
            pcall(host.disconnect, held.number)
        end
    end
    return proxy
end

function driver:connect()
    local answer, number = host.connect()
    if answer == REFUSED then
        -- The script may have lost some that are still open.
        collectgarbage()
        collectgarbage()
        answer, number = host.connect()
    end
    if answer == REFUSED then
        not_connected(2)
    end
    local con = { driver = self, number = number, held = { number = number }, rest = false,
        error = 0, sql_errno = 0, sql_state = "", sql_errmsg = "" }
    con.proxy = closing(con)
    return setmetatable(con, of_connection)
end

local of_error = {
    __tostring = function(it)
        return ("SQL error, errno = %d, state = '%s': %s, in `%s`"):format(it.sql_errno, it.sql_state, it.sql_errmsg,
            it.query)
    end,
}

-- Raises the error of a statement: a table that makes sysbench start the event again, or a message.
local function raise(con, text)
    local number, state, message, is_ignorable = host.refusal()
    con.error = is_ignorable and sql.error.IGNORABLE or sql.error.FATAL
    con.sql_errno, con.sql_state, con.sql_errmsg = number, state, message
    local told = { connection = con, query = text, sql_errno = number, sql_state = state, sql_errmsg = message }
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

local function closed()
    error("attempt to use an already closed connection", 3)
end

-- A result with rows, or nothing.
local function result_of(con, text, answer, nrows, nfields, rows, rest)
    if rest or con.rest then
        con.rest = rest or false
    end
    if answer == ROWS then
        return setmetatable({ nrows = nrows, nfields = nfields, rows = rows, read = 0 }, of_result)
    elseif answer == REFUSED then
        raise(con, text)
    end
    return nil
end

function connection:query(text)
    text = tostring(text)
    return result_of(self, text, query(self.number or closed(), text, false))
end

function connection:query_row(text)
    text = tostring(text)
    local found = result_of(self, text, query(self.number or closed(), text, true))
    local row = found and found.rows and found.rows[1]
    if not row then
        return nil
    end
    return unpack(row, 1, found.nfields)
end

function connection:prepare(text)
    local answer, number = host.prepare(self.number or closed(), text)
    if answer == REFUSED then
        raise(self, text)
    end
    return setmetatable({ number = number, connection = self, params = {}, count = 0 }, of_statement)
end

function connection:disconnect()
    if not self.number then
        error("attempt to close an already closed connection", 2)
    end
    host.disconnect(self.number)
    self.number, self.held.number = nil, nil
end

function connection:reconnect()
    if host.reconnect(self.number or closed()) == REFUSED then
        not_connected(2)
    end
end

-- Further results of a statement, such as those of a procedure.
function connection:more_results()
    return self.rest and #self.rest > 0
end

function connection:next_result()
    local next = self.rest and table.remove(self.rest)
    if next and next.has_rows then
        next.read = 0
        return setmetatable(next, of_result)
    end
    return nil
end

function connection:check_error()
end

-- Rows are sent in statements of at most this many bytes, as by sysbench.
local BULK_BYTES = 512 * 1024

function connection:bulk_insert_init(head)
    local _ = self.number or closed()
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
    self.params, self.count = { ... }, select("#", ...)
end

local function values_of(params, count)
    local values = {}
    for i = 1, count do
        values[i] = params[i].value
    end
    return unpack(values, 1, count)
end

function statement:execute()
    local con, params, count = self.connection, self.params, self.count
    local number = con.number or closed()
    if count == 1 then
        return result_of(con, "<prepared statement>", execute(number, self.number, 1, params[1].value))
    elseif count == 2 then
        return result_of(con, "<prepared statement>",
            execute(number, self.number, 2, params[1].value, params[2].value))
    end
    return result_of(con, "<prepared statement>", execute(number, self.number, count, values_of(params, count)))
end

function statement:next_result()
    return self.connection:next_result()
end

function statement:close()
    local con = self.connection
    if con.number then
        host.close(con.number, self.number)
    end
end

function param:set(value)
    if self.is_integer then
        local number = tonumber(value)
        if number then
            self.value = number < 0 and -floor(-number) or floor(number)
        elseif value == nil then
            self.value = nil
        else
            error("a number is needed, not '" .. tostring(value) .. "'", 2)
        end
    elseif value == nil then
        self.value = nil
    elseif self.is_text then
        value = tostring(value)
        if self.length and #value > self.length then
            value = value:sub(1, self.length)
        end
        self.value = value
    else
        self.value = tonumber(value) or error("a number is needed, not '" .. tostring(value) .. "'", 2)
    end
end

function param:set_rand_str(template)
    self.value = host.rand_string(template)
end

function result:fetch_row()
    if not self.rows then
        error("the rows of this statement were only counted", 2)
    end
    local at = self.read + 1
    self.read = at
    return self.rows[at]
end

function result:free()
    if self.is_free then
        error("db_free_results() failed: attempt to free an invalid result set", 2)
    end
    self.is_free, self.rows = true, {}
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
