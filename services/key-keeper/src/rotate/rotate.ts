import { makeSigning, makeText, formatPublicKey } from '../material/material.ts';
import type { Phase } from '../plan/plan.ts';
import type { Recipe } from '../plan/wanted.ts';
import { formatNext, formatPrevious } from './read-rotation.ts';
import { formatTokenEntries, readTokenKey } from './token-key.ts';

type Entries = Readonly<Record<string, string>>;

/** Entries that change; `null` removes one. */
export type Change = Readonly<Record<string, string | null>>;

/** What a stage of a rotation changes in the entries of a Secret. */
export function rotateEntry(
  { entry, recipe, phase }: { entry: string; recipe: Recipe; phase: Phase },
  entries: Entries,
): Change {
  if (recipe === 'signing') return rotateSigning(entry, phase, entries);
  if (recipe === 'sealing') return rotateSealing(entry, phase, entries[entry] ?? '');
  if (recipe === 'tokens') return rotateTokens(entry, phase, entries);
  // No stage of an authority can be asked for.
  if (recipe === 'authority') return {};
  if (phase === 'finish') return { [formatPrevious(entry)]: null };
  const next = { [entry]: makeText(recipe) };
  return recipe === 'password' ? { ...next, [formatPrevious(entry)]: entries[entry] ?? '' } : next;
}

/** The public key in use comes first, then the one that the others shall accept as well. */
function rotateSigning(entry: string, phase: Phase, entries: Entries): Change {
  const [key, pub, waiting] = [`${entry}.key`, `${entry}.pub`, formatNext(entry)];
  const current = formatPublicKey(entries[key] ?? '');
  if (phase === 'finish') return { [pub]: current, [waiting]: null };
  if (phase === 'prepare') {
    const next = entries[waiting] ?? makeSigning().key;
    return { [waiting]: next, [pub]: current + formatPublicKey(next) };
  }
  const next = entries[waiting] ?? '';
  return { [key]: next, [waiting]: null, [pub]: formatPublicKey(next) + current };
}

/** Tokens of either key are accepted until the end: claims say which of the two made theirs. */
function rotateTokens(entry: string, phase: Phase, entries: Entries): Change {
  const names = formatTokenEntries(entry);
  if (phase === 'finish') return { [names.other]: null };
  const { key, number, other } = readTokenKey(entry, entries);
  const next = other ?? { number: number + 1, key: makeText('tokens') };
  if (phase === 'prepare') return { [names.other]: `${next.number}:${next.key}` };
  return { [entry]: next.key, [names.number]: String(next.number), [names.other]: `${number}:${key}` };
}

/** The last key can open from the moment that every node has it, and then comes first, which seals. */
function rotateSealing(entry: string, phase: Phase, text: string): Change {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const moved =
    phase === 'prepare' ? [...lines, makeText('sealing').trim()] : [...lines.slice(-1), ...lines.slice(0, -1)];
  return { [entry]: `${moved.join('\n')}\n` };
}
