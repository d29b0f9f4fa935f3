-- The older layer: plain functions on one connection of the thread, as scripts of sysbench 0.5 have.
local _, facts = ...

test, thread_id, num_threads, db_driver = facts.script_path, facts.tid, facts.threads, facts.driver
DB_ERROR_NONE, DB_ERROR_IGNORABLE, DB_ERROR_RESTART_TRANSACTION, DB_ERROR_FATAL, DB_ERROR_FAILED = 0, 1, 1, 2, 2

local own

local function con()
    if not own then
        own = sysbench.sql.driver():connect()
    end
    return own
end

function db_connect()
    con()
end

function db_disconnect()
    if own then
        own:disconnect()
        own = nil
    end
end

function db_query(text)
    return con():query(text)
end

function db_query_row(text)
    return con():query_row(text)
end

function db_bulk_insert_init(head)
    return con():bulk_insert_init(head)
end

function db_bulk_insert_next(row)
    return con():bulk_insert_next(row)
end

function db_bulk_insert_done()
    return con():bulk_insert_done()
end

function db_prepare(text)
    return con():prepare(text)
end

function db_bind_param(statement, values)
    local bound = {}
    for i, value in ipairs(values) do
        bound[i] = { value = value }
    end
    statement:bind_param(unpack(bound))
end

function db_execute(statement)
    return statement:execute()
end

function db_store_results(found)
    return found
end

function db_free_results(found)
    if found then
        found:free()
    end
end

function db_close(statement)
    statement:close()
end

local rand = sysbench.rand
sb_rand, sb_rand_uniform, sb_rand_gaussian, sb_rand_special, sb_rand_uniq, sb_rand_str, sb_rand_pareto, sb_rand_zipfian =
    rand.default, rand.uniform, rand.gaussian, rand.special, rand.unique, rand.string, rand.pareto, rand.zipfian
function sb_rnd()
    return rand.uniform(0, 0x3fffffff)
end
