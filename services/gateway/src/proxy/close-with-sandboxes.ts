import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import type { Change } from '@sandlot/kube';
import { findEndOfIncarnation } from '../directory/decide-ending.ts';
import type { Directory } from '../directory/directory.ts';
import type { Informers } from '../wiring/informers.ts';
import type { Upstreams } from './upstreams.ts';

/** Ends the exchanges with a sandbox as soon as the watches show that the sandbox, or its pod, is over. */
export function closeWithSandboxes({ claims, sandboxes }: Informers, directory: Directory, upstreams: Upstreams): void {
  const check = (uid: string, sandbox: Sandbox | undefined): void => {
    const upstream = upstreams.of(uid);
    if (upstream === undefined) return;
    const claim = sandbox === undefined ? undefined : directory.findClaim(sandbox);
    const end = findEndOfIncarnation(upstream.target, { claim, sandbox });
    if (end !== undefined) upstreams.drop(uid, end);
  };
  sandboxes.onChange(({ old, next }: Change<Sandbox>) => check((next ?? old)?.metadata.uid ?? '', next));
  claims.onChange(({ old, next }: Change<SandboxClaim>) => {
    const claim = next ?? old;
    const name = claim?.status?.sandbox?.name;
    if (claim === undefined || name === undefined) return;
    const sandbox = sandboxes.store.get(`${claim.metadata.namespace}/${name}`);
    if (sandbox !== undefined) check(sandbox.metadata.uid ?? '', sandbox);
  });
}
