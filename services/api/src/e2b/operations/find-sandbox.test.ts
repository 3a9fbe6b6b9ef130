import { claim, sandbox } from '@sandlot/api-types/testing';
import type { ApiKey } from '@sandlot/tenancy';
import { describe, expect, it } from 'vitest';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { findOwnSandbox, findRunningSandbox } from './find-sandbox.ts';

const NOW = Date.UTC(2030, 0, 1);
const KEY = { namespace: 'team' } as ApiKey;

interface Facts {
  readonly ready?: boolean;
  readonly endsInSeconds?: number;
  readonly mode?: 'Running' | 'Suspended';
}

function build({ ready = true, endsInSeconds = 60, mode = 'Running' }: Facts): ClaimedSandbox {
  const shutdownTime = new Date(NOW + endsInSeconds * 1_000).toISOString();
  const made = claim({ namespace: 'team', name: 'box', spec: { lifecycle: { shutdownTime } } });
  const status = ready ? { completionTime: '2029-12-31T23:59:00Z' } : {};
  return {
    claim: { ...made, status },
    sandbox: sandbox({ namespace: 'team', name: 'w', spec: { operatingMode: mode } }),
  };
}

/** An API server, and an informer that may be behind it. */
function setup({ cached, stored }: { cached: Facts; stored: Facts }) {
  const state = {
    findSandbox: async (
      _namespace: string,
      _id: string,
      isCurrent: (claimed: ClaimedSandbox) => boolean = () => true,
    ) => {
      const known = build(cached);
      return isCurrent(known) ? known : build(stored);
    },
  };
  return { state, clock: { now: () => NOW } };
}

const ready = {};
const starting = { ready: false };
const expired = { endsInSeconds: -1 };
const paused = { mode: 'Suspended' } as const;

describe('findOwnSandbox', () => {
  it.each([
    ['starts', starting],
    ['has expired', expired],
  ])('finds a sandbox that by an informer behind another replica still %s', async (_case, cached) => {
    expect(await findOwnSandbox(setup({ cached, stored: ready }), KEY, 'box')).toEqual(build(ready));
  });

  it.each([
    ['starts', starting],
    ['has expired', expired],
  ])('refuses a sandbox that %s with 404', async (_case, stored) => {
    await expect(findOwnSandbox(setup({ cached: stored, stored }), KEY, 'box')).rejects.toMatchObject({ status: 404 });
  });
});

describe('findRunningSandbox', () => {
  it('finds a sandbox that another replica has just resumed', async () => {
    expect(await findRunningSandbox(setup({ cached: paused, stored: ready }), KEY, 'box')).toEqual(build(ready));
  });

  it('refuses a paused sandbox with 404', async () => {
    const deps = setup({ cached: paused, stored: paused });
    await expect(findRunningSandbox(deps, KEY, 'box')).rejects.toMatchObject({ status: 404 });
  });
});
