import { getRow } from '../model.ts';
import { kruiseFields } from '../tables/openkruise/claims.ts';
import { extensionKeys } from '../tables/openkruise/extension-keys.ts';
import { listMatches, readOrFail } from './read.ts';
import type { Read } from './read.ts';

/** Where our API reads the keys of OpenKruise, one at the start of each line of a table. */
const KEYS = 'services/api/src/e2b/request/control-keys.ts';
/** Where our migration lists the fields of OpenKruise's claim. */
const FIELDS = 'tools/sandlot/src/migrate/claim.ts';

/** Keys that our API reads and fields that our migration knows, and that no row has. */
export function findKruiseProblems(read: Read): readonly string[] {
  const keys = new Set(extensionKeys.items.map((item) => getRow(item).name));
  const fields = kruiseFields.items.map((item) => getRow(item).name);
  return [
    ...listMatches(readOrFail(read, KEYS), /^ {2}'?([a-z-]+)'?: \(value/gm)
      .filter((key) => !keys.has(key))
      .map((key) => `extension keys: ${key} is no item`),
    ...listMatches(readOrFail(read, FIELDS), /^ {2}'(\w+)',$/gm)
      .filter((field) => !fields.some((one) => `${one}.`.startsWith(`spec.${field}.`)))
      .map((field) => `claims of OpenKruise: ${field} is no item`),
  ];
}
