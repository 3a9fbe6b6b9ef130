// What changes together in Redis. A process that dies leaves all of a script's writes, or none.

/**
 * Queues deliveries and moves the place in the stream on, if that is still where the caller read from: of two readers one wins, and
 * after Redis lost its data neither does. Returns the number of pending deliveries that gave way to newer ones, or -1.
 * ARGV: prefix, place before, place after, most deliveries of a webhook, their lifetime in s, now in ms; then webhook, event,
 * sequence and record of each delivery.
 */
export const QUEUE = `
local P = ARGV[1]
if (redis.call('GET', P .. ':place') or '') ~= ARGV[2] then return -1 end
local most, dropped = tonumber(ARGV[4]), 0
for i = 7, #ARGV, 4 do
  local hook, event = ARGV[i], ARGV[i + 1]
  local records, log, due = P .. ':records:' .. hook, P .. ':log:' .. hook, P .. ':due:' .. hook
  if redis.call('HSETNX', records, event, ARGV[i + 3]) == 1 then
    redis.call('ZADD', log, ARGV[i + 2], event)
    redis.call('ZADD', due, ARGV[6], event)
    redis.call('ZADD', P .. ':open', ARGV[i + 2], hook .. '/' .. event)
    redis.call('SADD', P .. ':waiting', hook)
  end
  while redis.call('ZCARD', log) > most do
    local oldest = redis.call('ZRANGE', log, 0, 0)[1]
    dropped = dropped + redis.call('ZREM', due, oldest)
    redis.call('ZREM', log, oldest)
    redis.call('HDEL', records, oldest)
    redis.call('ZREM', P .. ':open', hook .. '/' .. oldest)
  end
  redis.call('EXPIRE', records, ARGV[5])
  redis.call('EXPIRE', log, ARGV[5])
end
redis.call('SET', P .. ':place', ARGV[3])
return dropped`;

/**
 * What of a webhook is due. Returns the end of its cool-down, the time of the next delivery ('' without one), and the records that
 * are due now. A webhook without pending deliveries waits no more. ARGV: prefix, webhook, now in ms, at most how many.
 */
export const TAKE = `
local P, hook = ARGV[1], ARGV[2]
local due = P .. ':due:' .. hook
local nextDue = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
if not nextDue then redis.call('SREM', P .. ':waiting', hook) end
local found = { redis.call('HGET', P .. ':cool:' .. hook, 'until') or '', nextDue or '' }
for _, event in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', ARGV[3], 'LIMIT', 0, ARGV[4])) do
  local record = redis.call('HGET', P .. ':records:' .. hook, event)
  if record then found[#found + 1] = record else redis.call('ZREM', due, event) end
end
return found`;

/**
 * Records an attempt. ARGV: prefix, webhook, event, record, time of the next attempt in ms or '', since when attempts fail in ms or
 * '', end of the cool-down in ms, how long failures are remembered in s.
 */
export const FINISH = `
local P, hook, event = ARGV[1], ARGV[2], ARGV[3]
local records, due = P .. ':records:' .. hook, P .. ':due:' .. hook
if redis.call('HEXISTS', records, event) == 1 then
  redis.call('HSET', records, event, ARGV[4])
  if ARGV[5] ~= '' then
    redis.call('ZADD', due, ARGV[5], event)
  else
    redis.call('ZREM', due, event)
    redis.call('ZREM', P .. ':open', hook .. '/' .. event)
  end
end
local cool = P .. ':cool:' .. hook
if ARGV[6] == '' then
  redis.call('DEL', cool)
else
  redis.call('HSET', cool, 'since', ARGV[6], 'until', ARGV[7])
  redis.call('EXPIRE', cool, ARGV[8])
end
return 1`;

/**
 * Queues a delivery again that has ended. Returns 1, or 0 if it is not there or pending. It is not among the open ones, by which the
 * stream is read again after a loss: the client repeats a replay. ARGV: prefix, webhook, event, record, now.
 */
export const REPLAY = `
local P, hook, event = ARGV[1], ARGV[2], ARGV[3]
local due = P .. ':due:' .. hook
if redis.call('HEXISTS', P .. ':records:' .. hook, event) == 0 or redis.call('ZSCORE', due, event) then return 0 end
redis.call('HSET', P .. ':records:' .. hook, event, ARGV[4])
redis.call('ZADD', due, ARGV[5], event)
redis.call('SADD', P .. ':waiting', hook)
return 1`;

/** Forgets a webhook that is gone. ARGV: prefix, webhook. */
export const FORGET = `
local P, hook = ARGV[1], ARGV[2]
for _, event in ipairs(redis.call('ZRANGE', P .. ':due:' .. hook, 0, -1)) do
  redis.call('ZREM', P .. ':open', hook .. '/' .. event)
end
redis.call('SREM', P .. ':waiting', hook)
redis.call('DEL', P .. ':due:' .. hook, P .. ':log:' .. hook, P .. ':records:' .. hook, P .. ':cool:' .. hook)
return 1`;
