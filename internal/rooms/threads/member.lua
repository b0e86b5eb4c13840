-- A member of a thread as its hash has it: "role:joined:read:muted:nickname". The role is o (owner) or m,
-- joined is the newest message at the time of joining, read the message up to which the member has read,
-- muted 1 or 0. This is a part of scripts, see scripts.go.
local function open(value)
   local role, joined, read, muted, nickname = string.match(value, "^(%a):(%d+):(%d+):(%d):(.*)$")
   return { role = role, joined = joined, read = read, muted = muted, nickname = nickname }
end

local function close(m)
   return table.concat({ m.role, m.joined, m.read, m.muted, m.nickname }, ":")
end
