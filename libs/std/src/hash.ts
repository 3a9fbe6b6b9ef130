const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;
const utf8 = new TextEncoder();

/**
 * FNV-1a, 32 bits, over UTF-8 bytes, as 8 lower-case hex digits (docs/reference/names-and-hashes.md#hashes).
 * Finds candidates only: 32-bit values collide, ownership is proven by owner UID.
 */
export function nameHash(text: string): string {
  let hash = OFFSET_BASIS;
  for (const byte of utf8.encode(text)) hash = Math.imul(hash ^ byte, PRIME) >>> 0;
  return hash.toString(16).padStart(8, '0');
}
