import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkoutRoot } from '@sandlot/up';
import { parse } from 'yaml';

type Values = Readonly<Record<string, unknown>>;

/** What one machine does not have: requests, and disks with the streams that need them. */
const SIZES: ReadonlySet<string> = new Set(['resources', 'persistence', 'maxBytes', 'recordMaxBytes']);

/** The values of a profile of the chart, without its sizes. */
export async function readProfile(name: 'small' | 'ha'): Promise<Values> {
  const text = await readFile(join(checkoutRoot, `charts/sandlot/profiles/${name}.yaml`), 'utf8');
  return withoutSizes(parse(text) as Values);
}

function withoutSizes(values: Values): Values {
  const kept = Object.entries(values).filter(([key]) => !SIZES.has(key));
  return Object.fromEntries(kept.map(([key, value]) => [key, isObject(value) ? withoutSizes(value) : value]));
}

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
