import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkoutRoot } from '@sandlot/up';
import { parse } from 'yaml';

type Values = Readonly<Record<string, unknown>>;

/** The values of a profile of the chart, without the requests and the disks that one machine does not have. */
export async function readProfile(name: 'small' | 'ha'): Promise<Values> {
  const text = await readFile(join(checkoutRoot, `charts/sandlot/profiles/${name}.yaml`), 'utf8');
  return withoutSizes(parse(text) as Values);
}

function withoutSizes(values: Values): Values {
  const kept = Object.entries(values).filter(([key]) => key !== 'persistence' && key !== 'resources');
  return Object.fromEntries(kept.map(([key, value]) => [key, isObject(value) ? withoutSizes(value) : value]));
}

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
