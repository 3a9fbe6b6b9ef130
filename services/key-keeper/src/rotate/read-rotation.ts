import { phases } from '../plan/plan.ts';
import type { Phase } from '../plan/plan.ts';
import type { Recipe, WantedSecret } from '../plan/wanted.ts';
import { readTokenKey } from './token-key.ts';

/** Annotation by which the operator asks for a stage of a rotation: `ENTRY STAGE`, such as `signing prepare`. */
export const ROTATE = 'sandlot.dev/rotate';

export interface Rotation {
  readonly entry: string;
  readonly recipe: Recipe;
  readonly phase: Phase;
}

/** Without a way to accept two values there is no overlap: only `switch` makes sense. */
const STAGES: Readonly<Record<Recipe, readonly Phase[]>> = {
  signing: ['prepare', 'switch', 'finish'],
  sealing: ['prepare', 'switch'],
  password: ['switch', 'finish'],
  tokens: ['prepare', 'switch', 'finish'],
  bytes: ['switch'],
  // Sandboxes that run trust this one and no other.
  authority: [],
};

/** The rotation that an annotation asks for, or what is wrong with it. */
export function readRotation(
  { entries: wanted }: WantedSecret,
  text: string,
  entries: Readonly<Record<string, string>>,
): Rotation | string {
  const [entry = '', stage = ''] = text.trim().split(/\s+/);
  const recipe = Object.hasOwn(wanted, entry) ? wanted[entry] : undefined;
  if (recipe === undefined) return `${ROTATE} names ${entry}, which is none of ${Object.keys(wanted).join(', ')}`;
  if (STAGES[recipe].length === 0) return `${entry} is an authority, which cannot be rotated`;
  const phase = phases.find((known) => known === stage);
  if (phase === undefined || !STAGES[recipe].includes(phase)) {
    return `${ROTATE} of ${entry} can be ${STAGES[recipe].join(', ')}`;
  }
  const rotation = { entry, recipe, phase };
  return findDisorder(rotation, entries) ?? rotation;
}

/** What is wrong with the order of the stages. */
function findDisorder(
  { entry, recipe, phase }: Rotation,
  entries: Readonly<Record<string, string>>,
): string | undefined {
  const { hasNext, hasPrevious } = lookBeside(entry, recipe, entries);
  if (phase === 'switch' && !hasNext) return `prepare the rotation of ${entry} before the switch`;
  if (phase === 'prepare' && hasPrevious) return `finish the rotation of ${entry} before the next one`;
  return undefined;
}

interface Beside {
  /** What the switch needs is there. */
  readonly hasNext: boolean;
  /** The next rotation would lose the value of before this one while it is still accepted. */
  readonly hasPrevious: boolean;
}

function lookBeside(entry: string, recipe: Recipe, entries: Readonly<Record<string, string>>): Beside {
  if (recipe === 'signing') return { hasNext: entries[formatNext(entry)] !== undefined, hasPrevious: false };
  if (recipe !== 'tokens') return { hasNext: true, hasPrevious: false };
  const { number, other } = readTokenKey(entry, entries);
  return {
    hasNext: other !== undefined && other.number > number,
    hasPrevious: other !== undefined && other.number < number,
  };
}

/** Where the next private key waits for the switch. */
export function formatNext(entry: string): string {
  return `${entry}.next`;
}

/** Where a server finds the password of before the switch. */
export function formatPrevious(entry: string): string {
  return `${entry}.previous`;
}
