import { sandboxClaims } from '@sandlot/api-types';
import { claimManifest } from '../manifests.ts';
import { findReadyCondition } from '../sandboxes.ts';
import { eventually } from '../team.ts';
import type { Team } from '../team.ts';

const PAUSE_MS = 2_000;

/** Longer than it takes to install a release. */
const PATIENCE_MS = 300_000;

export interface ClaimLoad {
  /** Ends the load and waits for its last claims. Resolves with how many were made; rejects if one does not become Ready. */
  finish(): Promise<number>;
}

/** Makes a claim by pool every two seconds, whichever controller serves it, and deletes it once it is Ready. */
export function startClaimLoad(team: Team): ClaimLoad {
  const stop = new AbortController();
  const served: Promise<void>[] = [];
  const running = (async () => {
    while (!stop.signal.aborted) {
      const name = `load-${served.length}`;
      await team.apply(claimManifest(name, '{warmPoolRef: {name: boxes}}'));
      served.push(serve(team, name));
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  })();
  return {
    finish: async () => {
      stop.abort();
      await running;
      await Promise.all(served);
      return served.length;
    },
  };
}

async function serve(team: Team, name: string): Promise<void> {
  const key = { namespace: team.namespace, name };
  const isReady = async () =>
    findReadyCondition(await team.client.get(sandboxClaims, key))?.status === 'True' ? true : undefined;
  await eventually(`claim ${name} is Ready`, isReady, PATIENCE_MS);
  await team.client.delete(sandboxClaims, key);
}
