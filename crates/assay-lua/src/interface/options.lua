-- The options and commands that scripts declare.
local host, facts = ...
local type, pairs, error, select = type, pairs, error, select
local concat = table.concat

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
        -- Scripts of sysbench 0.5 know all options as globals.
        for key, value in pairs(facts.options) do
            if _G[key] == nil then
                _G[key] = value
            end
        end
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
    if type(declared) ~= "table" then
        error("sysbench.cmdline.options is a " .. type(declared) .. ", and must be a table", 0)
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
            -- Without a default it is on, as in sysbench.
            default = default ~= false
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
        if not kind and key == "help" then
            return "help", key, cmdline.test_options()
        elseif not kind then
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

-- What a value of an option looks like.
local FORMS = {
    [cmdline.ARG_BOOL] = "[=on|off]", [cmdline.ARG_INT] = "=N", [cmdline.ARG_DOUBLE] = "=N",
    [cmdline.ARG_SIZE] = "=SIZE", [cmdline.ARG_STRING] = "=STRING", [cmdline.ARG_LIST] = "=[LIST,...]",
    [cmdline.ARG_FILE] = "=FILENAME",
}

-- The declared options, a line each, with the form of their values, descriptions and defaults.
function cmdline.test_options()
    local names, forms, width, lines = {}, {}, 0, {}
    for name, it in pairs(cmdline.options or {}) do
        local form = name .. (FORMS[it[3] or usual_type(it[2])] or "")
        names[#names + 1], forms[name], width = name, form, math.max(width, #form)
    end
    table.sort(names)
    for _, name in ipairs(names) do
        local it, form = cmdline.options[name], forms[name]
        local default = it[2] ~= nil and (" [" .. text_of(it[2]) .. "]") or ""
        lines[#lines + 1] = ("  --%s%s %s%s"):format(form, (" "):rep(width - #form), it[1], default)
    end
    return concat(lines, "\n")
end

function cmdline.print_test_options()
    print(cmdline.test_options())
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

host.take_options, host.command_of = take_options, command_of
