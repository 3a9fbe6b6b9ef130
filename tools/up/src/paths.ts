import { homedir } from 'node:os';
import { join } from 'node:path';

/** The checkout this file belongs to. */
export const checkoutRoot = join(import.meta.dirname, '..', '..', '..');

/** Where what is expensive to make is kept, outside the checkout, keyed by what it was made from. */
export function cacheDir(...parts: readonly string[]): string {
  const { SANDLOT_CACHE_DIR, XDG_CACHE_HOME } = process.env;
  return join(SANDLOT_CACHE_DIR ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sandlot'), ...parts);
}
