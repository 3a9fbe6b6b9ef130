import type { ProcessParts } from '@sandlot/service';
import type { Dispatcher } from '../routing/dispatcher.ts';
import type { GatewaySettings } from '../wiring/config.ts';
import { listen, listenSecurely } from './listen.ts';
import type { Listener } from './listen.ts';

export interface OpenListenersOptions {
  readonly dispatcher: Dispatcher;
  readonly settings: GatewaySettings;
  readonly parts: ProcessParts;
}

/**
 * Opens the plain port, the TLS port and the router port, as far as the settings ask for them, and adds each to `listeners`.
 * Returns the bound ports by name. Rejects when a port cannot be bound.
 */
export async function openListeners(
  { dispatcher, settings, parts }: OpenListenersOptions,
  listeners: Listener[],
): Promise<Record<string, number>> {
  const { ROUTER_PORT, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, MAX_CONNECTIONS: maxConnections } = settings;
  const open = { only: undefined, auth: settings.AGENT_SANDBOX_AUTH } as const;
  const ports: Record<string, number> = {};
  const add = (name: string, listener: Listener): void => {
    listeners.push(listener);
    ports[name] = listener.port;
  };
  add('port', await listen({ dispatcher, policy: open, port: settings.PORT, maxConnections }));
  if (certFile !== undefined && keyFile !== undefined) {
    const files = { certFile, keyFile, checkMs: settings.TLS_CHECK_INTERVAL, clock: parts.clock, log: parts.log };
    const port = settings.TLS_PORT;
    add('tlsPort', await listenSecurely({ dispatcher, policy: open, port, maxConnections, ...files }));
  }
  if (ROUTER_PORT !== undefined) {
    const policy = { only: 'router', auth: settings.ROUTER_AUTH } as const;
    add('routerPort', await listen({ dispatcher, policy, port: ROUTER_PORT, maxConnections }));
  }
  return ports;
}
