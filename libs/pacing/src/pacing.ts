import { mechanisms } from './table.ts';
import type { MechanismName } from './table.ts';

/** The values of every mechanism. Read them when they are used, not when a module loads: a benchmark may switch one off. */
export type Pacing = {
  readonly [N in MechanismName]: { readonly [K in keyof (typeof mechanisms)[N]['values']]: number };
};

const names = Object.keys(mechanisms) as MechanismName[];
const current: Record<string, Readonly<Record<string, number>>> = Object.fromEntries(
  names.map((name) => [name, mechanisms[name].values]),
);

export const pacing = current as Pacing;

/** A name that {@link switchOffPacing} does not know. */
class UnknownMechanismError extends Error {
  override readonly name = 'UnknownMechanismError';
  readonly code = 'UnknownMechanism';
}

/**
 * Switches mechanisms off in this process, for benchmarks: `list` has their names, separated by commas; undefined or empty
 * switches nothing off. Disposing of the result switches them on again. Throws UnknownMechanismError.
 */
export function switchOffPacing(list: string | undefined): Disposable {
  const wanted = (list ?? '').split(',').filter((name) => name !== '');
  const unknown = wanted.filter((name) => !isMechanism(name));
  if (unknown.length > 0) {
    throw new UnknownMechanismError(`no pacing is called ${unknown.join(', ')}; there are ${names.join(', ')}`);
  }
  for (const name of wanted.filter(isMechanism))
    current[name] = { ...mechanisms[name].values, ...mechanisms[name].off };
  return {
    [Symbol.dispose]: () => {
      for (const name of wanted.filter(isMechanism)) current[name] = mechanisms[name].values;
    },
  };
}

/** Whether the table has a mechanism of that name. */
export function isMechanism(name: string): name is MechanismName {
  return Object.hasOwn(mechanisms, name);
}
