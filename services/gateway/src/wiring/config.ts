import { durationMs, integer, list, port, text, url } from '@sandlot/config';
import { processSettings } from '@sandlot/service';
import { z } from 'zod';
import { auths } from '../access/authoriser.ts';

const auth = z.enum(auths, { error: `one of ${auths.join(', ')}` });

/** Settings of the gateway, by environment variable. */
export const gatewaySettings = processSettings.extend({
  /** Plain HTTP/1.1: every dialect and the control plane. */
  PORT: port().default(8080),
  /** Absent: no TLS. With both files, HTTP/2 and HTTP/1.1 by ALPN on TLS_PORT. Changed files are taken up. */
  TLS_CERT_FILE: text().optional(),
  TLS_KEY_FILE: text().optional(),
  TLS_PORT: port().default(8443),
  /** How often the files are looked at. */
  TLS_CHECK_INTERVAL: durationMs().default(30_000),
  /** Plain HTTP/1.1 for agent-sandbox clients alone, behind `kubectl port-forward`. Absent: not served. */
  ROUTER_PORT: port().optional(),
  /** Domains under which `<port>-<id>` is a sandbox. */
  DOMAINS: list().default([]),
  /** Where control-plane requests go. Absent: they are answered by 404. */
  API_URL: url(['http', 'https']).optional(),
  /**
   * Who may use agent-sandbox headers: everybody, bearers of a Kubernetes token that may `create sandboxes/connect`, holders of
   * an API key of the sandbox's namespace, or both of these.
   */
  AGENT_SANDBOX_AUTH: auth.default('token'),
  /** The same on ROUTER_PORT, which the network policy and the API server's port-forward guard. */
  ROUTER_AUTH: auth.default('none'),
  /** Longest X-Sandbox-Timeout. */
  AGENT_SANDBOX_MAX_TIMEOUT: durationMs().default(3_600_000),
  /** Port of the daemon's agent-sandbox API, which has no authentication: closed to E2B clients. 0: it is not served. */
  EXEC_PORT: port().default(8888),
  /** Networks of proxies whose X-Forwarded-* are believed. */
  TRUSTED_PROXIES: list().default([]),
  /**
   * Networks that are dialled although no pod's address may be in them, such as 127.0.0.0/8. For tests and development:
   * in production it would let a Sandbox's status lead the gateway to itself.
   */
  ALLOW_ADDRESSES: list().default([]),
  /** How long a request waits for its sandbox. */
  HOLD_TIMEOUT: durationMs().default(30_000),
  /** How many requests wait at once. */
  HOLD_MAX: integer({ min: 0, max: 100_000 }).default(1_000),
  /** How much of their bodies may be in memory meanwhile. */
  HOLD_MAX_BYTES: integer({ min: 0 }).default(67_108_864),
  /** How long a connection to a sandbox may take. */
  CONNECT_TIMEOUT: durationMs().default(5_000),
  /** Requests and WebSockets of one sandbox at once. */
  MAX_CONNECTIONS_PER_SANDBOX: integer({ min: 1 }).default(2_000),
  /** The same of all sandboxes of one API key, and of its control-plane requests. */
  MAX_CONNECTIONS_PER_KEY: integer({ min: 1 }).default(10_000),
  /** Client connections of this process. */
  MAX_CONNECTIONS: integer({ min: 1 }).default(20_000),
  /** Longest time between two reports of activity of one sandbox. */
  ACTIVITY_INTERVAL: durationMs().default(30_000),
  /** After SIGTERM: how long connections are still taken, and how long running requests may go on. */
  DRAIN_DELAY: durationMs().default(3_000),
  DRAIN_TIMEOUT: durationMs().default(25_000),
  /** What a client's traceparent is: a `link` from a trace of ours, or the `parent` of our spans. */
  CLIENT_TRACES: z.enum(['link', 'parent'], { error: 'one of link, parent' }).default('link'),
});

export type GatewaySettings = z.output<typeof gatewaySettings>;
