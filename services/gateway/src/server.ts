import { loadCredentials } from '@sandlot/kube';
import type { ProcessParts, RunningServer } from '@sandlot/service';
import { drain } from './listeners/drain.ts';
import { openListeners } from './listeners/open.ts';
import { createComponents } from './wiring/components.ts';
import type { GatewaySettings } from './wiring/config.ts';
import { createInformers } from './wiring/informers.ts';

/** How often upstreams without a connection are dropped. */
const SWEEP_MS = 30_000;
/** How often the gateway looks for heads that take too long. */
const CHECK_HEADS_MS = 500;

/** Builds the gateway; it listens when this resolves. Rejects when a port cannot be bound or a setting is invalid. */
export async function startGateway(parts: ProcessParts, settings: GatewaySettings): Promise<RunningServer> {
  const { clock } = parts;
  const informers = createInformers({ ...parts, namespaces: settings.WATCH_NAMESPACES, metrics: parts.kubeMetrics });
  const credentials = await loadCredentials({ kubeconfig: settings.KUBECONFIG, mount: settings.SERVICE_ACCOUNT_DIR });
  const { dispatcher, api, guard, upstreams, heldRequests, activity, listeners } = createComponents({
    parts,
    settings,
    informers,
    credentials,
  });
  const ports = await openListeners({ dispatcher, guard, settings, parts }, listeners);
  const sweeping = startRepeating(parts, SWEEP_MS, () => upstreams.sweep());
  const checking = startRepeating(parts, CHECK_HEADS_MS, () => guard.sweep());
  return {
    ports,
    informers: [informers.claims, informers.sandboxes],
    drain: async () => {
      const isIdle = (): boolean => upstreams.activeCount === 0 && heldRequests.count === 0;
      await drain({ listeners, clock, isIdle, settings });
      sweeping[Symbol.dispose]();
      checking[Symbol.dispose]();
      activity.close();
      upstreams.close();
      api.close();
      await Promise.all(listeners.map((listener) => listener.close()));
    },
  };
}

function startRepeating({ clock }: ProcessParts, everyMs: number, act: () => void): Disposable {
  const arm = () =>
    clock.setTimeout(() => {
      act();
      timer = arm();
    }, everyMs);
  let timer = arm();
  return { [Symbol.dispose]: () => timer.cancel() };
}
