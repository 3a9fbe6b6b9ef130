import { setTimeout as sleep } from 'node:timers/promises';
import { sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { isAlreadyExists } from '@sandlot/kube';
import { findReadyCondition, getSandboxName } from '../sandboxes.ts';
import { eventually } from '../team.ts';
import type { Team } from '../team.ts';
import { repeat } from './repeat.ts';
import type { Running } from './repeat.ts';
import type { Tally } from './tally.ts';

const PAUSE_MS = 2_000;
/** How long a Ready claim lives: longer than a controller takes to hand over, so that some live under two of them. */
const LIFE_MS = 4_000;
/** Longer than it takes to install a release. */
const PATIENCE_MS = 300_000;

/** A claim of the load that became Ready. */
export interface Served {
  readonly name: string;
  readonly sandbox: string;
  /** Who had written its status until then, by the names in `managedFields`. */
  readonly writers: readonly string[];
}

/** Claims that arrive every two seconds, whether those before are Ready or not. */
export interface ClaimLoad extends Running {
  readonly served: readonly Served[];
}

type Spec = SandboxClaim['spec'];
const WARM: Spec = { warmPoolRef: { name: 'boxes' } };

/** How a cold claim is written: by the template `box`, or by the pool {@link EMPTY_POOL}, as agent-sandbox understands it as well. */
export type ColdBy = 'template' | 'pool';

/** A pool without members. */
export const EMPTY_POOL = 'empty';

const COLD: Readonly<Record<ColdBy, Spec>> = {
  template: { sandboxTemplateRef: { name: 'box' }, warmpool: 'none' },
  pool: { warmPoolRef: { name: EMPTY_POOL } },
};

/** Makes a claim from the pool `boxes`, unless an attempt before has made it. */
export async function createWarmClaim(team: Team, name: string): Promise<void> {
  await createClaim(team, name, WARM);
}

// By the client of this process: a kubectl for each claim takes from the processors that the measured processes share.
async function createClaim({ client, namespace }: Team, name: string, spec: Spec): Promise<void> {
  try {
    await client.create(sandboxClaims, { metadata: { namespace, name }, spec });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Makes claims from the pool `boxes` and every third one cold, and deletes each some seconds after it is Ready. */
export function startClaims(team: Team, tally: Tally, coldBy: ColdBy): ClaimLoad {
  const served: Served[] = [];
  const under: Promise<void>[] = [];
  const live = async (name: string, spec: Spec): Promise<void> => {
    const key = { namespace: team.namespace, name };
    await tally.run(async () => {
      await createClaim(team, name, spec);
      served.push(describeServed(await waitUntilReady(team, name)));
    });
    await sleep(LIFE_MS);
    await team.client.delete(sandboxClaims, key);
  };
  const running = repeat(PAUSE_MS, async () => {
    under.push(live(`load-${under.length}`, under.length % 3 === 2 ? COLD[coldBy] : WARM));
  });
  return {
    served,
    stop: async () => {
      await running.stop();
      await Promise.all(under);
    },
  };
}

function describeServed(claim: SandboxClaim): Served {
  const { name = '', managedFields = [] } = claim.metadata;
  const writers = managedFields.filter(({ subresource }) => subresource === 'status');
  return { name, sandbox: getSandboxName(claim), writers: writers.map(({ manager = '' }) => manager) };
}

async function waitUntilReady({ client, namespace }: Team, name: string): Promise<SandboxClaim> {
  const key = { namespace, name };
  return eventually(
    `claim ${name} is Ready`,
    async () => {
      const claim = await client.get(sandboxClaims, key);
      return findReadyCondition(claim)?.status === 'True' ? claim : undefined;
    },
    PATIENCE_MS,
  );
}
