
-- Everything below sends what is described above.
local connection
local prepared = {}
local last = 1

local function unit()
   return sysbench.rand.uniform(0, 1073741823) / 1073741824
end

-- The j-th lowest of N values has a probability in proportion to j^-EXPONENT: rejection-inversion, after Hörmann and
-- Derflinger (1996). sysbench 1.0 has no such distribution.
local function zipfian(n, exponent)
   local function height(x) return x ^ -exponent end
   local function integral(x)
      if exponent == 1 then return math.log(x) end
      return (x ^ (1 - exponent) - 1) / (1 - exponent)
   end
   local function inverse(y)
      if exponent == 1 then return math.exp(y) end
      return (1 + y * (1 - exponent)) ^ (1 / (1 - exponent))
   end
   local first, last_y = integral(1.5) - 1, integral(n + 0.5)
   local shortcut = 2 - inverse(integral(2.5) - height(2))
   return function()
      while true do
         local y = last_y + unit() * (first - last_y)
         local x = inverse(y)
         local rank = math.min(math.max(math.floor(x + 0.5), 1), n)
         if rank - x <= shortcut or y >= integral(rank + 0.5) - height(rank) then return rank end
      end
   end
end

local draw = EXPONENT and zipfian(ROWS, EXPONENT) or function() return sysbench.rand.uniform(1, ROWS) end

local function on_table(sql, number)
   return (sql:gsub("sbtest", "sbtest" .. number))
end

-- Appends the values of one parameter, or of several.
local fill = {
   drawn = function(values, count)
      for _ = 1, count do
         last = draw()
         values[#values + 1] = last
      end
   end,
   again = function(values) values[#values + 1] = last end,
   plus = function(values, distance) values[#values + 1] = last + distance end,
   hot = function(values, count)
      for number = 1, count do values[#values + 1] = math.floor(ROWS / 2) + number end
   end,
   digits = function(values, groups)
      values[#values + 1] = sysbench.rand.string(("-###########"):rep(groups):sub(2))
   end,
}

-- The parameters of a step, bound to a statement.
local function bound(statement, step)
   local parameters = {}
   for _, part in ipairs(step.fill) do
      local kind, count = part[1], part[2]
      if kind == "digits" then
         parameters[#parameters + 1] = statement:bind_create(sysbench.sql.type.CHAR, 12 * count)
      else
         local times = (kind == "drawn" or kind == "hot") and count or 1
         for _ = 1, times do
            parameters[#parameters + 1] = statement:bind_create(sysbench.sql.type.INT)
         end
      end
   end
   if #parameters > 0 then statement:bind_param(unpack(parameters)) end
   return parameters
end

function thread_init()
   connection = sysbench.sql.driver():connect()
   for number, step in ipairs(STEPS) do
      prepared[number] = {}
      for on = 1, step.prepared and TABLES or 0 do
         local statement = connection:prepare(on_table(step.sql, on))
         prepared[number][on] = { statement = statement, parameters = bound(statement, step) }
      end
   end
end

function thread_done()
   for _, tables in ipairs(prepared) do
      for _, it in ipairs(tables) do it.statement:close() end
   end
   connection:disconnect()
end

local function send(number, step, on)
   local values = {}
   for _, part in ipairs(step.fill) do fill[part[1]](values, part[2]) end
   if step.prepared then
      local it = prepared[number][on]
      for place, value in ipairs(values) do it.parameters[place]:set(value) end
      it.statement:execute()
   else
      local place = 0
      connection:query((on_table(step.sql, on):gsub("?", function()
         place = place + 1
         local value = values[place]
         return type(value) == "string" and "'" .. value .. "'" or ("%d"):format(value)
      end)))
   end
end

function event()
   local on = 1
   for number, step in ipairs(STEPS) do
      if step.table == "drawn" then
         on = sysbench.rand.uniform(1, TABLES)
      elseif step.table == "client" then
         on = sysbench.tid % TABLES + 1
      end
      for _ = 1, step.times do send(number, step, on) end
   end
end
