import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Container } from '@sandlot/kube';
import { checkoutRoot } from '@sandlot/up';
import { parse } from 'yaml';

export type Profile = 'small' | 'ha';

type Values = Readonly<Record<string, unknown>>;

/** What one machine does not have: requests, and disks with the streams that need them. */
const SIZES: ReadonlySet<string> = new Set(['resources', 'persistence', 'maxBytes', 'recordMaxBytes']);

/** The file of a profile, as operators give it to Helm. */
export const getProfilePath = (name: Profile): string => join(checkoutRoot, `charts/sandlot/profiles/${name}.yaml`);

const readValues = async (name: Profile): Promise<Values> =>
  parse(await readFile(getProfilePath(name), 'utf8')) as Values;

/** The values of a profile of the chart, without its sizes. */
export const readProfile = async (name: Profile): Promise<Values> => withoutSizes(await readValues(name));

function withoutSizes(values: Values): Values {
  const kept = Object.entries(values).filter(([key]) => !SIZES.has(key));
  return Object.fromEntries(kept.map(([key, value]) => [key, isObject(value) ? withoutSizes(value) : value]));
}

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a profile says of the sizes of components, by component. */
export interface Sizes {
  readonly resources: Readonly<Record<string, Container['resources']>>;
  /** The size of each volume. */
  readonly disks: Readonly<Record<string, string>>;
}

export async function readSizes(name: Profile): Promise<Sizes> {
  const sections = Object.entries(await readValues(name)).filter((entry): entry is [string, Values] =>
    isObject(entry[1]),
  );
  const pick = (choose: (section: Values) => unknown): [string, unknown][] =>
    sections
      .map(([key, section]): [string, unknown] => [getComponent(key), choose(section)])
      .filter(([, value]) => value !== undefined);
  return {
    resources: Object.fromEntries(pick(({ resources }) => resources)) as Sizes['resources'],
    disks: Object.fromEntries(
      pick(({ persistence }) => (isObject(persistence) ? persistence['size'] : undefined)),
    ) as Sizes['disks'],
  };
}

/** The component that a section of the values is about: `claim-controller` of `claimController`. */
const getComponent = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
