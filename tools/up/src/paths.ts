import { homedir } from 'node:os';
import { join } from 'node:path';

/** Root folder of this checkout. */
export const checkoutRoot = join(import.meta.dirname, '..', '..', '..');

/** Returns a path in the cache for everything that is slow to build. It is outside the checkout. */
export function getCacheDir(...parts: readonly string[]): string {
  const { SANDLOT_CACHE_DIR, XDG_CACHE_HOME } = process.env;
  return join(SANDLOT_CACHE_DIR ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sandlot'), ...parts);
}
