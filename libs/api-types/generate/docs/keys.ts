import { annotations, labels } from '../../src/index.ts';
import { code, table } from './table.ts';
import { annotationUses } from './annotation-uses.ts';
import { labelUses } from './label-uses.ts';
import type { Use } from './uses.ts';

/** Every label that Sandlot reads or writes. */
export function labelTable(): string {
  return formatKeyTable(labels, labelUses);
}

/** Every annotation that Sandlot reads or writes. */
export function formatAnnotationTable(): string {
  return formatKeyTable(annotations, annotationUses);
}

function formatKeyTable<Name extends string>(
  keys: Readonly<Record<Name, string>>,
  uses: Readonly<Record<Name, Use>>,
): string {
  const names = Object.keys(keys) as Name[];
  const rows = names.map((name) => [code(keys[name]), uses[name].on, uses[name].by, uses[name].meaning]);
  return table(['key', 'on', 'set by', 'meaning'], rows);
}
