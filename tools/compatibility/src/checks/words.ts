import {
  claimConditions,
  claimReasons,
  eventReasons,
  sandboxConditions,
  sandboxReasons,
  templateConditions,
  templateReasons,
  warmPoolConditions,
  warmPoolReasons,
} from '@sandlot/api-types';
import { getRow } from '../model.ts';
import type { Table } from '../model.ts';
import { claimWords, eventWords, sandboxWords } from '../tables/agent-sandbox/conditions.ts';
import {
  ownClaimWords,
  ownEventWords,
  ownExtensionWords,
  ownSandboxWords,
} from '../tables/agent-sandbox/conditions.ts';

/** Conditions and reasons of ours that no row and no list of our own words names, and rows of words that we do not have. */
export function findWordProblems(): readonly string[] {
  return [
    ...compareWords(sandboxWords, ownSandboxWords, [sandboxConditions, sandboxReasons]),
    ...compareWords(claimWords, ownClaimWords, [claimConditions, claimReasons]),
    ...compareWords(eventWords, ownEventWords, [eventReasons]),
    // agent-sandbox has no conditions on templates and pools, so a word that appears there later has to be looked at.
    ...compareWords({ title: 'Templates and pools', what: '', items: [] }, ownExtensionWords, [
      templateConditions,
      templateReasons,
      warmPoolConditions,
      warmPoolReasons,
    ]),
  ];
}

/** The problems of one table, given the constants of its kind. */
export function compareWords(
  { title, items }: Table,
  own: readonly string[],
  constants: readonly Readonly<Record<string, string>>[],
): readonly string[] {
  const words = new Set(constants.flatMap((one) => Object.values(one)));
  const rows = items.map(getRow);
  const listed = new Set([...rows.map(({ name }) => name), ...own]);
  return [
    ...[...words]
      .filter((word) => !listed.has(word))
      .map((word) => `${title}: ${word} is neither an item nor ours alone`),
    ...own.filter((word) => !words.has(word)).map((word) => `${title}: ${word} is listed as ours, and is no constant`),
    ...rows
      .filter(({ name, state }) => state !== 'no' && !words.has(name))
      .map(({ name }) => `${title}: there is no constant ${name}`),
  ];
}
