// Reads what a client configures: names of servers, and the settings of each.
import type { Catalogue, Entry, Settings } from './catalogue.ts';
import { GatewayError, quote } from './errors.ts';

/** The longest configuration. Clients send it as one argument of a command, which Linux limits to 128 KiB. */
export const MOST_CONFIG_BYTES = 64 * 1024;

/** A server to start. */
export interface Wanted {
  readonly name: string;
  readonly entry: Entry;
  readonly settings: Settings;
}

/** Reads a configuration. Throws GatewayError with the name of the server or setting that is wrong. */
export function readConfig(text: string, catalogue: Catalogue): readonly Wanted[] {
  if (Buffer.byteLength(text) > MOST_CONFIG_BYTES) {
    throw new GatewayError('config', `the configuration has more than ${MOST_CONFIG_BYTES} bytes`);
  }
  const servers = Object.entries(parseObject(text));
  if (servers.length === 0) throw new GatewayError('config', 'the configuration names no server');
  for (const [name] of servers) requireEntry(name, catalogue);
  return servers.map(([name, settings]) => readServer(name, settings, catalogue));
}

/** The entry of a server. Throws GatewayError if the installation does not have it. */
export function requireEntry(name: string, catalogue: Catalogue): Entry {
  const entry = Object.hasOwn(catalogue, name) ? catalogue[name] : undefined;
  if (entry !== undefined) return entry;
  const why = name.startsWith('github/') ? ': it runs no code from repositories' : '';
  throw new GatewayError('server', `server ${quote(name)} is not available in this installation${why}`);
}

function readServer(name: string, settings: unknown, catalogue: Catalogue): Wanted {
  const entry = requireEntry(name, catalogue);
  const parsed = entry.settings.safeParse(settings);
  if (parsed.success) return { name, entry, settings: parsed.data };
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const place = [name, ...(issue?.path ?? []), ...unknown].map(String).join('.');
  const problem = unknown.length > 0 ? 'there is no such setting' : (issue?.message ?? 'invalid');
  throw new GatewayError('config', `server ${quote(name)}: ${quote(place)}: ${problem}`);
}

function parseObject(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new GatewayError('config', 'the configuration is not JSON');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new GatewayError('config', 'the configuration is not an object of servers');
}
