import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKubeClient } from '../client/client.ts';
import type { KubeClient } from '../client/types.ts';
import { loadCredentials } from '../credentials/load-credentials.ts';
import { leases } from '../objects/resources.ts';
import { LeaseElector } from './elector.ts';
import type { LeaseOptions, Term } from './elector.ts';

let plane: ControlPlane;
let client: KubeClient;

beforeAll(async () => {
  plane = await startControlPlane();
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
});

afterAll(async () => {
  await client.close();
  await plane.stop();
});

interface Candidate {
  readonly terms: Term[];
  readonly leads: () => boolean;
  readonly stop: () => Promise<void>;
}

function candidate(options: Pick<LeaseOptions, 'name' | 'identity'> & Partial<LeaseOptions>): Candidate {
  const elector = new LeaseElector({ namespace: 'default', client, ...options });
  const stopped = new AbortController();
  const terms: Term[] = [];
  let working = false;
  const running = elector.run(stopped.signal, async (term) => {
    terms.push(term);
    working = true;
    const either = AbortSignal.any([stopped.signal, term.signal]);
    await new Promise((resolve) => {
      if (either.aborted) resolve(undefined);
      either.addEventListener('abort', resolve, { once: true });
    });
    working = false;
  });
  const stop = (): Promise<void> => {
    stopped.abort();
    return running;
  };
  return { terms, leads: () => working && terms.at(-1)?.signal.aborted === false, stop };
}

const eventually = (read: () => unknown) => expect.poll(read, { timeout: 60_000, interval: 10 });

describe('an election on a real API server', () => {
  it('hands over at once when the holder stops, because the standby watches the lease', async () => {
    const name = 'handover';
    const looksOnceAnHour = { durationMs: 14_400_000, renewMs: 10_800_000, retryMs: 3_600_000 };
    const holder = candidate({ name, identity: 'a', ...looksOnceAnHour });
    await eventually(() => holder.leads()).toBe(true);
    const standby = candidate({ name, identity: 'b', ...looksOnceAnHour });
    await holder.stop();
    await eventually(() => standby.leads()).toBe(true);
    expect([holder.terms[0]?.token, standby.terms[0]?.token]).toEqual([1, 2]);
    const held = await client.get(leases, { namespace: 'default', name });
    expect(held.spec).toMatchObject({ holderIdentity: 'b', leaseDurationSeconds: 14_400, leaseTransitions: 2 });
    await standby.stop();
    const released = await client.get(leases, { namespace: 'default', name });
    expect(released.spec?.holderIdentity ?? '').toBe('');
  });

  it("gives the lease back at once to a process that restarts with the holder's identity", async () => {
    const renewTime = '2020-01-01T00:00:00.000000Z';
    await client.create(leases, {
      metadata: { namespace: 'default', name: 'restart' },
      spec: { holderIdentity: 'pod-1', leaseDurationSeconds: 3_600, renewTime, leaseTransitions: 4 },
    });
    const again = candidate({ name: 'restart', identity: 'pod-1' });
    await eventually(() => again.leads()).toBe(true);
    expect(again.terms[0]?.token).toBe(5);
    await again.stop();
  });

  it('takes over from a holder that no longer renews its lease', async () => {
    await client.create(leases, {
      metadata: { namespace: 'default', name: 'silent' },
      // The wall clock of this holder is a century ahead. Only the unchanged record counts.
      spec: { holderIdentity: 'dead', leaseDurationSeconds: 1, renewTime: '2130-01-01T00:00:00.000000Z' },
    });
    const next = candidate({ name: 'silent', identity: 'alive', retryMs: 100 });
    await eventually(() => next.leads()).toBe(true);
    await next.stop();
  });

  it('loses the lease when another process writes its own identity', async () => {
    const holder = candidate({ name: 'stolen', identity: 'a', retryMs: 100 });
    await eventually(() => holder.leads()).toBe(true);
    const spec = { holderIdentity: 'thief', leaseTransitions: 99 };
    await client.mergePatch(leases, { namespace: 'default', name: 'stolen' }, { spec });
    await eventually(() => holder.terms[0]?.signal.aborted).toBe(true);
    await holder.stop();
    const after = await client.get(leases, { namespace: 'default', name: 'stolen' });
    expect(after.spec?.holderIdentity).toBe('thief');
  });

  it('keeps the lease through a short outage of the API server', async () => {
    const holder = candidate({ name: 'outage', identity: 'a', retryMs: 200, durationMs: 90_000, renewMs: 60_000 });
    await eventually(() => holder.leads()).toBe(true);
    await plane.restart();
    const before = await client.get(leases, { namespace: 'default', name: 'outage' });
    await eventually(async () => {
      const now = await client.get(leases, { namespace: 'default', name: 'outage' });
      return now.spec?.renewTime !== before.spec?.renewTime;
    }).toBe(true);
    expect([holder.leads(), holder.terms.length]).toEqual([true, 1]);
    await holder.stop();
  });
});
