import { secrets } from '@sandlot/kube';
import type { ChildStep } from '../plan/steps.ts';
import { createIfAbsent } from '../writes/calls.ts';
import type { CallDeps } from '../writes/calls.ts';
import { KEY_FILE } from './runtime-delivery.ts';

/**
 * Creates the Secret with the key of a Sandbox. If a user put another Secret in its place, the daemon finds another key than
 * its Pod announces and does not start: that user breaks this sandbox alone.
 */
export function createKeySecret(
  deps: CallDeps,
  { secret, privateKey }: ChildStep & { kind: 'createKeySecret' },
): Promise<void> {
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  const data = { [KEY_FILE]: Buffer.from(pem).toString('base64') };
  return createIfAbsent(deps, secrets, { ...secret, data });
}
