-- Counts a chunk of the hits of a process, once however often it is sent.
--
-- KEYS[3]  the last chunk of the process: string, integer
-- ARGV     after the arguments of hits.lua:
--            number of the chunk: integer > 0, one more than that of the process' chunk before
--            number of the last chunk that the process knows to be counted, 0 at first
--            for each hit its key, the place of its time in the times, and n: integer > 0
--
-- Returns  0  counted
--          1  counted before: nothing is changed
--          2  a chunk before it is missing: nothing is changed
local COUNTED, COUNTED_BEFORE, MISSING = 0, 1, 2
local PROCESS_LIFETIME = 2592000
local number, answered = tonumber(ARGV[read + 1]), tonumber(ARGV[read + 2])
-- A Redis that was restored from an older copy knows less than the process.
local last = math.max(tonumber(call('GET', KEYS[3]) or 0), answered)
if number <= last then return COUNTED_BEFORE end
if number > last + 1 then return MISSING end
for i = read + 3, #ARGV, 3 do add(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
finish()
call('SET', KEYS[3], number, 'EX', PROCESS_LIFETIME)
return COUNTED
