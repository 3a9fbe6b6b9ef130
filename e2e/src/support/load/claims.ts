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
}

/** Claims that arrive every two seconds, whether those before are Ready or not. */
export interface ClaimLoad extends Running {
  readonly served: readonly Served[];
}

/** Makes claims from the pool `boxes`, and deletes each some seconds after it is Ready. */
export function startWarmClaims(team: Team, tally: Tally): ClaimLoad {
  return start(team, tally, () => WARM);
}

/** The same with every third claim cold, from the template `box`. */
export function startClaims(team: Team, tally: Tally): ClaimLoad {
  return start(team, tally, (index) => (index % 3 === 2 ? COLD : WARM));
}

type Spec = SandboxClaim['spec'];
const WARM: Spec = { warmPoolRef: { name: 'boxes' } };
const COLD: Spec = { sandboxTemplateRef: { name: 'box' }, warmpool: 'none' };

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

function start(team: Team, tally: Tally, getSpec: (index: number) => Spec): ClaimLoad {
  const served: Served[] = [];
  const under: Promise<void>[] = [];
  const live = async (name: string, spec: Spec): Promise<void> => {
    const key = { namespace: team.namespace, name };
    await tally.run(async () => {
      await createClaim(team, name, spec);
      served.push({ name, sandbox: await waitUntilReady(team, name) });
    });
    await sleep(LIFE_MS);
    await team.client.delete(sandboxClaims, key);
  };
  const running = repeat(PAUSE_MS, async () => {
    under.push(live(`load-${under.length}`, getSpec(under.length)));
  });
  return {
    served,
    stop: async () => {
      await running.stop();
      await Promise.all(under);
    },
  };
}

async function waitUntilReady({ client, namespace }: Team, name: string): Promise<string> {
  const key = { namespace, name };
  const ready = await eventually(
    `claim ${name} is Ready`,
    async () => {
      const claim = await client.get(sandboxClaims, key);
      return findReadyCondition(claim)?.status === 'True' ? claim : undefined;
    },
    PATIENCE_MS,
  );
  return getSandboxName(ready);
}
