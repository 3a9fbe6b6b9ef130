import { readFileSync } from 'node:fs';
import type { BusOptions } from '@sandlot/bus';
import type { Logger } from '@sandlot/std';
import type { ProcessSettings } from './settings.ts';

/**
 * The password of NATS. From a file it is a function that reads it, for each attempt to connect: the kubelet replaces the file
 * when the Secret changes. An unreadable file is logged, and the server then refuses the empty password. During a rotation the
 * password of before lies beside it, for a server that does not know the new one yet
 * (docs/operations/rotate-keys.md#passwords-of-nats).
 */
export function buildNatsPassword(
  { NATS_PASSWORD, NATS_PASSWORD_FILE: file }: Pick<ProcessSettings, 'NATS_PASSWORD' | 'NATS_PASSWORD_FILE'>,
  log: Logger,
): BusOptions['password'] {
  if (file === undefined) return NATS_PASSWORD?.reveal();
  return () => {
    try {
      return [readPassword(file), ...listPrevious(file)];
    } catch (error) {
      log.error({ file, err: error }, 'cannot read the password of NATS; retrying');
      return [''];
    }
  };
}

function readPassword(file: string): string {
  return readFileSync(file, 'utf8').trimEnd();
}

/** Empty outside of a rotation: the Secret has no such entry then. */
function listPrevious(file: string): readonly string[] {
  try {
    return [readPassword(`${file}.previous`)];
  } catch {
    return [];
  }
}
