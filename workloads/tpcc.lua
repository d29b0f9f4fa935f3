#!/usr/bin/env sysbench
-- Transactions in the manner of TPC-C, for sysbench and assay. It follows the published standard (revision 5.11), without
-- terminals, keying and thinking times. Its results are no TPC results.
--
--     assay compare mysql@8.0 mysql@9.7 --workload tpcc.lua -- --warehouses=2
--     sysbench tpcc.lua --warehouses=2 prepare

sysbench.cmdline.options = {
    warehouses = { "Number of warehouses", 1 },
    items = { "Number of items; the standard has 100000", 100000 },
    customers = { "Customers of a district; the standard has 3000", 3000 },
}

local DISTRICTS = 10
local SYLLABLES = { "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING" }
local uniform = sysbench.rand.uniform

local TABLES = {
    warehouse = [[w_id INT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20),
        w_city VARCHAR(20), w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2),
        PRIMARY KEY (w_id)]],
    district = [[d_id INT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20),
        d_street_2 VARCHAR(20), d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4),
        d_ytd DECIMAL(12,2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id)]],
    customer = [[c_id INT NOT NULL, c_d_id INT NOT NULL, c_w_id INT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2),
        c_last VARCHAR(16), c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2),
        c_zip CHAR(9), c_phone CHAR(16), c_since TIMESTAMP NULL, c_credit CHAR(2), c_credit_lim DECIMAL(12,2),
        c_discount DECIMAL(4,4), c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt INT,
        c_delivery_cnt INT, c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id)]],
    history = [[h_c_id INT, h_c_d_id INT, h_c_w_id INT, h_d_id INT, h_w_id INT, h_date TIMESTAMP NULL,
        h_amount DECIMAL(6,2), h_data VARCHAR(24)]],
    orders = [[o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, o_c_id INT, o_entry_d TIMESTAMP NULL,
        o_carrier_id INT, o_ol_cnt INT, o_all_local INT, PRIMARY KEY (o_w_id, o_d_id, o_id)]],
    new_order = [[no_o_id INT NOT NULL, no_d_id INT NOT NULL, no_w_id INT NOT NULL,
        PRIMARY KEY (no_w_id, no_d_id, no_o_id)]],
    order_line = [[ol_o_id INT NOT NULL, ol_d_id INT NOT NULL, ol_w_id INT NOT NULL, ol_number INT NOT NULL,
        ol_i_id INT, ol_supply_w_id INT, ol_delivery_d TIMESTAMP NULL, ol_quantity INT, ol_amount DECIMAL(6,2),
        ol_dist_info CHAR(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)]],
    item = [[i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50),
        PRIMARY KEY (i_id)]],
    stock = [[s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity INT, s_dist_01 CHAR(24), s_dist_02 CHAR(24),
        s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24),
        s_dist_08 CHAR(24), s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd DECIMAL(8,0), s_order_cnt INT,
        s_remote_cnt INT, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id)]],
}
local ORDER = {
    "warehouse", "district", "customer", "history", "orders", "new_order", "order_line", "item", "stock",
}

-- Values ------------------------------------------------------------------------------------------------------------

-- The constants of NURand, clause 2.1.6; 7911 and 223 differ as the standard wants it for load and run.
local C_LAST_LOAD, C_LAST_RUN, C_CUSTOMER, C_ITEM = 157, 223, 259, 7911

local function nurand(a, low, high, c)
    local both = bit.bor(uniform(0, a), uniform(low, high))
    return (both + c) % (high - low + 1) + low
end

local function last_name(number)
    return SYLLABLES[math.floor(number / 100) + 1] .. SYLLABLES[math.floor(number / 10) % 10 + 1]
        .. SYLLABLES[number % 10 + 1]
end

local function letters(min, max)
    return sysbench.rand.string(("@"):rep(uniform(min, max)))
end

local function address()
    return ("'%s','%s','%s','%s','%s11111'"):format(letters(10, 20), letters(10, 20), letters(10, 20), letters(2, 2),
        sysbench.rand.string("####"))
end

local function data(min, max)
    local text = letters(min, max)
    if uniform(1, 10) == 1 then
        local at = uniform(1, #text - 8)
        text = text:sub(1, at - 1) .. "ORIGINAL" .. text:sub(at + 8)
    end
    return text
end

-- Load --------------------------------------------------------------------------------------------------------------

local function rows(con, name, count, row)
    con:bulk_insert_init("INSERT INTO " .. name .. " VALUES")
    for i = 1, count do
        con:bulk_insert_next("(" .. row(i) .. ")")
    end
    con:bulk_insert_done()
end

local function shuffled(count)
    local all = {}
    for i = 1, count do
        all[i] = i
    end
    for i = count, 2, -1 do
        local j = uniform(1, i)
        all[i], all[j] = all[j], all[i]
    end
    return all
end

local function load_district(con, w, d)
    local customers = sysbench.opt.customers
    rows(con, "customer", customers, function(c)
        local number = c <= 1000 and c - 1 or nurand(255, 0, 999, C_LAST_LOAD)
        return ("%d,%d,%d,'%s','OE','%s',%s,'%s',CURRENT_TIMESTAMP,'%s',50000,%.4f,-10,10,1,0,'%s'"):format(c, d, w,
            letters(8, 16), last_name(number), address(), sysbench.rand.string("################"),
            uniform(1, 10) == 1 and "BC" or "GC", uniform(0, 5000) / 10000, letters(300, 500))
    end)
    rows(con, "history", customers, function(c)
        return ("%d,%d,%d,%d,%d,CURRENT_TIMESTAMP,10,'%s'"):format(c, d, w, d, w, letters(12, 24))
    end)
    local of, undelivered, lines = shuffled(customers), math.floor(customers * 0.7), {}
    rows(con, "orders", customers, function(o)
        lines[o] = uniform(5, 15)
        local carrier = o <= undelivered and uniform(1, 10) or "NULL"
        return ("%d,%d,%d,%d,CURRENT_TIMESTAMP,%s,%d,1"):format(o, d, w, of[o], carrier, lines[o])
    end)
    rows(con, "new_order", customers - undelivered, function(i)
        return ("%d,%d,%d"):format(undelivered + i, d, w)
    end)
    con:bulk_insert_init("INSERT INTO order_line VALUES")
    for o = 1, customers do
        local is_delivered = o <= undelivered
        for number = 1, lines[o] do
            con:bulk_insert_next(("(%d,%d,%d,%d,%d,%d,%s,5,%.2f,'%s')"):format(o, d, w, number,
                uniform(1, sysbench.opt.items), w, is_delivered and "CURRENT_TIMESTAMP" or "NULL",
                is_delivered and 0 or uniform(1, 999999) / 100, letters(24, 24)))
        end
    end
    con:bulk_insert_done()
end

local function load_warehouse(con, w)
    con:query(("INSERT INTO warehouse VALUES (%d,'%s',%s,%.4f,300000)"):format(w, letters(6, 10), address(),
        uniform(0, 2000) / 10000))
    rows(con, "stock", sysbench.opt.items, function(i)
        local info = {}
        for d = 1, DISTRICTS do
            info[d] = "'" .. letters(24, 24) .. "'"
        end
        return ("%d,%d,%d,%s,0,0,0,'%s'"):format(i, w, uniform(10, 100), table.concat(info, ","), data(26, 50))
    end)
    for d = 1, DISTRICTS do
        con:query(("INSERT INTO district VALUES (%d,%d,'%s',%s,%.4f,30000,%d)"):format(d, w, letters(6, 10), address(),
            uniform(0, 2000) / 10000, sysbench.opt.customers + 1))
        load_district(con, w, d)
    end
end

function prepare()
    local con = sysbench.sql.driver():connect()
    for _, name in ipairs(ORDER) do
        con:query("CREATE TABLE " .. name .. " (" .. TABLES[name] .. ")")
    end
    rows(con, "item", sysbench.opt.items, function(i)
        return ("%d,%d,'%s',%.2f,'%s'"):format(i, uniform(1, 10000), letters(14, 24), uniform(100, 10000) / 100,
            data(26, 50))
    end)
    for w = 1, sysbench.opt.warehouses do
        load_warehouse(con, w)
    end
    con:query("CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first)")
    con:query("CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)")
end

function cleanup()
    local con = sysbench.sql.driver():connect()
    for _, name in ipairs(ORDER) do
        con:query("DROP TABLE IF EXISTS " .. name)
    end
end

-- Transactions ------------------------------------------------------------------------------------------------------

local con

local function send(text, ...)
    return con:query(text:format(...))
end

local function ask(text, ...)
    return con:query_row(text:format(...))
end

local function other_warehouse(w)
    local count = sysbench.opt.warehouses
    if count == 1 then
        return w
    end
    local other = uniform(1, count - 1)
    return other < w and other or other + 1
end

-- The customer of a payment or a status: by last name in 60% of the cases, the one in the middle.
local function customer(w, d)
    local customers = sysbench.opt.customers
    if uniform(1, 100) > 60 then
        return nurand(1023, 1, customers, C_CUSTOMER)
    end
    local name = last_name(nurand(255, 0, math.min(999, customers - 1), C_LAST_RUN))
    local found = send("SELECT c_id FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s' ORDER BY c_first",
        w, d, name)
    local middle
    for _ = 1, math.ceil(found.nrows / 2) do
        middle = found:fetch_row()[1]
    end
    return middle or nurand(1023, 1, customers, C_CUSTOMER)
end

local function new_order(w)
    local d, c = uniform(1, DISTRICTS), nurand(1023, 1, sysbench.opt.customers, C_CUSTOMER)
    local count, is_wrong, all_local, lines = uniform(5, 15), uniform(1, 100) == 1, 1, {}
    for number = 1, count do
        local supply = uniform(1, 100) == 1 and other_warehouse(w) or w
        if supply ~= w then
            all_local = 0
        end
        local item = nurand(8191, 1, sysbench.opt.items, C_ITEM)
        -- In one of a hundred orders, the last item does not exist.
        if is_wrong and number == count then
            item = sysbench.opt.items + 1
        end
        lines[number] = { item = item, supply = supply, quantity = uniform(1, 10) }
    end
    -- Locks are taken in one order, so two orders cannot wait for each other.
    table.sort(lines, function(a, b)
        return a.supply < b.supply or a.supply == b.supply and a.item < b.item
    end)
    send("BEGIN")
    ask("SELECT w_tax FROM warehouse WHERE w_id = %d", w)
    local next_order = ask("SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d FOR UPDATE", w, d)
    ask("SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", w, d, c)
    send("UPDATE district SET d_next_o_id = %d WHERE d_w_id = %d AND d_id = %d", next_order + 1, w, d)
    send("INSERT INTO orders VALUES (%d, %d, %d, %d, CURRENT_TIMESTAMP, NULL, %d, %d)", next_order, d, w, c, count,
        all_local)
    send("INSERT INTO new_order VALUES (%d, %d, %d)", next_order, d, w)
    for number, line in ipairs(lines) do
        local price = ask("SELECT i_price, i_name, i_data FROM item WHERE i_id = %d", line.item)
        if not price then
            send("ROLLBACK")
            return
        end
        local quantity, info = ask(
            "SELECT s_quantity, s_dist_%02d, s_data FROM stock WHERE s_i_id = %d AND s_w_id = %d FOR UPDATE", d,
            line.item, line.supply)
        local left = quantity - line.quantity
        if left < 10 then
            left = left + 91
        end
        send([[UPDATE stock SET s_quantity = %d, s_ytd = s_ytd + %d, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + %d WHERE s_i_id = %d AND s_w_id = %d]], left, line.quantity,
            line.supply == w and 0 or 1, line.item, line.supply)
        send("INSERT INTO order_line VALUES (%d, %d, %d, %d, %d, %d, NULL, %d, %.2f, '%s')", next_order, d, w, number,
            line.item, line.supply, line.quantity, line.quantity * price, info)
    end
    send("COMMIT")
end

local function payment(w)
    local d, amount = uniform(1, DISTRICTS), uniform(100, 500000) / 100
    local c_w, c_d = w, d
    if uniform(1, 100) > 85 then
        c_w, c_d = other_warehouse(w), uniform(1, DISTRICTS)
    end
    send("BEGIN")
    send("UPDATE warehouse SET w_ytd = w_ytd + %.2f WHERE w_id = %d", amount, w)
    local w_name = ask("SELECT w_name, w_street_1, w_city, w_state, w_zip FROM warehouse WHERE w_id = %d", w)
    send("UPDATE district SET d_ytd = d_ytd + %.2f WHERE d_w_id = %d AND d_id = %d", amount, w, d)
    local d_name = ask("SELECT d_name, d_street_1, d_city, d_state, d_zip FROM district WHERE d_w_id = %d AND d_id = %d",
        w, d)
    local c = customer(c_w, c_d)
    local key = ("c_w_id = %d AND c_d_id = %d AND c_id = %d"):format(c_w, c_d, c)
    local credit = ask("SELECT c_credit, c_first, c_last, c_balance FROM customer WHERE " .. key .. " FOR UPDATE")
    local paid = ("c_balance = c_balance - %.2f, c_ytd_payment = c_ytd_payment + %.2f, c_payment_cnt = c_payment_cnt + 1")
        :format(amount, amount)
    if credit == "BC" then
        local text = ask("SELECT c_data FROM customer WHERE " .. key .. " FOR UPDATE")
        local news = ("%d %d %d %d %d %.2f "):format(c, c_d, c_w, d, w, amount)
        send("UPDATE customer SET %s, c_data = '%s' WHERE %s", paid, (news .. text):sub(1, 500), key)
    else
        send("UPDATE customer SET %s WHERE %s", paid, key)
    end
    send("INSERT INTO history VALUES (%d, %d, %d, %d, %d, CURRENT_TIMESTAMP, %.2f, '%s    %s')", c, c_d, c_w, d, w, amount,
        w_name, d_name)
    send("COMMIT")
end

local function order_status(w)
    local d = uniform(1, DISTRICTS)
    send("BEGIN")
    local c = customer(w, d)
    ask("SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", w, d,
        c)
    local o = ask([[SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_c_id = %d
        ORDER BY o_id DESC LIMIT 1]], w, d, c)
    if o then
        send([[SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
            WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d]], w, d, o)
    end
    send("COMMIT")
end

local function delivery(w)
    local carrier = uniform(1, 10)
    send("BEGIN")
    for d = 1, DISTRICTS do
        local o = ask([[SELECT no_o_id FROM new_order WHERE no_w_id = %d AND no_d_id = %d ORDER BY no_o_id LIMIT 1
            FOR UPDATE]], w, d)
        if o then
            send("DELETE FROM new_order WHERE no_w_id = %d AND no_d_id = %d AND no_o_id = %d", w, d, o)
            local c = ask("SELECT o_c_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", w, d, o)
            send("UPDATE orders SET o_carrier_id = %d WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", carrier, w, d, o)
            local lines = ("ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d"):format(w, d, o)
            send("UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE " .. lines)
            local sum = ask("SELECT SUM(ol_amount) FROM order_line WHERE " .. lines)
            send([[UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d]], sum, w, d, c)
        end
    end
    send("COMMIT")
end

local function stock_level(w, d)
    send("BEGIN")
    local next_order = ask("SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d", w, d)
    ask([[SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id < %d
        AND ol_o_id >= %d AND s_w_id = %d AND s_i_id = ol_i_id AND s_quantity < %d]], w, d, next_order, next_order - 20, w,
        uniform(10, 20))
    send("COMMIT")
end

function thread_init()
    con = sysbench.sql.driver():connect()
end

function event()
    local w, kind = uniform(1, sysbench.opt.warehouses), uniform(1, 100)
    if kind <= 45 then
        new_order(w)
    elseif kind <= 88 then
        payment(w)
    elseif kind <= 92 then
        order_status(w)
    elseif kind <= 96 then
        delivery(w)
    else
        stock_level(w, uniform(1, DISTRICTS))
    end
end

function sysbench.hooks.before_restart_event()
    con:query("ROLLBACK")
end

function thread_done()
    con:disconnect()
end
