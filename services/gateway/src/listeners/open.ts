import type { ProcessParts } from '@sandlot/service';
import { parseNetworks } from '../access/address.ts';
import type { Dispatcher } from '../routing/dispatcher.ts';
import type { GatewaySettings } from '../wiring/config.ts';
import type { ConnectionGuard } from './connection-guard.ts';
import { listen, listenSecurely } from './listen.ts';
import type { Listener } from './listen.ts';

export interface OpenListenersOptions {
  readonly dispatcher: Dispatcher;
  readonly guard: ConnectionGuard;
  readonly settings: GatewaySettings;
  readonly parts: ProcessParts;
}

/**
 * Opens the plain port, the TLS port and the router port, as far as the settings ask for them, and adds each to `listeners`.
 * Returns the bound ports by name. Rejects when a port cannot be bound.
 */
export async function openListeners(
  { dispatcher, guard, settings, parts }: OpenListenersOptions,
  listeners: Listener[],
): Promise<Record<string, number>> {
  const { ROUTER_PORT, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = settings;
  const shared = {
    dispatcher,
    guard,
    trustedProxies: parseNetworks(settings.TRUSTED_PROXIES),
    headMs: settings.HEAD_TIMEOUT,
  };
  const open = { only: undefined, auth: settings.AGENT_SANDBOX_AUTH } as const;
  const ports: Record<string, number> = {};
  const add = (name: string, listener: Listener): void => {
    listeners.push(listener);
    ports[name] = listener.port;
  };
  add('port', await listen({ ...shared, policy: open, port: settings.PORT }));
  if (certFile !== undefined && keyFile !== undefined) {
    const files = { certFile, keyFile, checkMs: settings.TLS_CHECK_INTERVAL, clock: parts.clock, log: parts.log };
    const port = settings.TLS_PORT;
    add('tlsPort', await listenSecurely({ ...shared, policy: open, port, ...files }));
  }
  if (ROUTER_PORT !== undefined) {
    const policy = { only: 'router', auth: settings.ROUTER_AUTH } as const;
    add('routerPort', await listen({ ...shared, policy, port: ROUTER_PORT }));
  }
  return ports;
}
