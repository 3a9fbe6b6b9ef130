import type { Sandbox } from '@sandlot/api-types';
import { connectBus } from '@sandlot/bus';
import { silentLogger } from '@sandlot/std';
import { readNatsAccess } from './nats.ts';
import { eventually } from './team.ts';
import type { Team } from './team.ts';

/** Requests the wake of Sandboxes as a gateway does, with a message for each on the release's NATS. */
export async function requestWakes(team: Team, asleep: readonly Sandbox[]): Promise<void> {
  const bus = await connectBus({ ...(await readNatsAccess(team)), service: 'e2e', log: silentLogger });
  try {
    await eventually('NATS is connected', async () => (bus.isConnected() ? true : undefined));
    for (const { metadata } of asleep) bus.publish(buildWake(team.namespace, metadata));
    await bus.flush();
  } finally {
    await bus.close();
  }
}

function buildWake(namespace: string, { name = '', uid = '', generation = 0 }: Sandbox['metadata']) {
  const type = 'sandbox.wake.requested' as const;
  const data = { namespace, name, uid, requestedBy: 'e2e' };
  return { type, id: `${uid}-wake-${generation}`, timeMs: Date.now(), data };
}
