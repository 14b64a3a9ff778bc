-- SPDX-License-Identifier: GPL-2.0-or-later
-- What pgo.py runs: pgo.lua SIZE SEED.  It prints a result of each part, so that builds can be
-- compared.
local size, seed = tonumber(arg[1]), tonumber(arg[2])

local state = seed
local function random(n)
	state = (state * 1103515245 + 12345) % 2147483648
	return state // 65536 % n + 1
end

local function fib(n)
	if n < 2 then return n end
	return fib(n - 1) + fib(n - 2)
end

local function sort(n)
	local t = {}
	for i = 1, n do t[i] = random(100000) end
	table.sort(t, function(a, b) return a > b end)
	return t[1] + t[n]
end

local function words(n)
	local count, text = {}, {}
	for i = 1, n do text[i] = string.format("w%d", random(500)) end
	for word in table.concat(text, " "):gmatch("%a%d+") do
		count[word] = (count[word] or 0) + 1
	end
	local most = 0
	for _, k in pairs(count) do most = math.max(most, k) end
	return most
end

local Tree = {}
Tree.__index = Tree

function Tree.new(depth)
	local t = setmetatable({}, Tree)
	if depth > 0 then t.left, t.right = Tree.new(depth - 1), Tree.new(depth - 1) end
	return t
end

function Tree:count()
	return self.left and 1 + self.left:count() + self.right:count() or 1
end

local function multiply(n)
	local a, b, sum = {}, {}, 0
	for i = 1, n do
		a[i], b[i] = {}, {}
		for j = 1, n do a[i][j], b[i][j] = random(10) / 4, random(10) / 8 end
	end
	for i = 1, n do
		local row = a[i]
		for j = 1, n do
			local s = 0.0
			for k = 1, n do s = s + row[k] * b[k][j] end
			sum = sum + s
		end
	end
	return string.format("%.3f", sum)
end

local function closures(n)
	local made, sum = {}, 0
	for i = 1, n do made[i] = function(x) return x % i + i end end
	for i = 1, n do sum = sum + made[random(n)](i) end
	return sum
end

for _ = 1, size do
	print(fib(22), sort(6000), words(9000), Tree.new(12):count(), multiply(50), closures(9000))
end
