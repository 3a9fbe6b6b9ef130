/**
 * The shard of a text: the same in every process and version, because two processes that disagree would both work on one
 * object. FNV-1a, then a mix of its bits, since its low bits alone spread similar names badly.
 */
export function findShard(text: string, count: number): number {
  if (count === 1) return 0;
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % count;
}

/** Holder of the common lease while all processes divide the work by `count`. No Pod has this name: it lacks a hash. */
export function formatDivision(count: number): string {
  return `shards-${count}`;
}
