import { durationMs, ed25519PrivateKey, flag, integer, list, port, text, url } from '@sandlot/config';
import { processSettings } from '@sandlot/service';
import { z } from 'zod';
import { authModes } from '../access/authoriser.ts';

const auth = z.enum(authModes, { error: `one of ${authModes.join(', ')}` });

/** The settings of the gateway, by environment variable. */
export const gatewaySettings = processSettings.extend({
  /** Plain HTTP/1.1: every dialect and the control plane. */
  PORT: port().default(8080),
  /** With both files: HTTP/2 and HTTP/1.1 by ALPN on TLS_PORT. The gateway uses changed files without a restart. Unset: no TLS. */
  TLS_CERT_FILE: text().optional(),
  TLS_KEY_FILE: text().optional(),
  TLS_PORT: port().default(8443),
  /** How often the gateway reads the files. */
  TLS_CHECK_INTERVAL: durationMs().default(30_000),
  /** Plain HTTP/1.1 for agent-sandbox clients only, behind `kubectl port-forward`. Unset: not served. */
  ROUTER_PORT: port().optional(),
  /** Domains under which `<port>-<id>` is a sandbox. */
  DOMAINS: list().default([]),
  /** Where control-plane requests go. Unset: the gateway answers them with 404. */
  API_URL: url(['http', 'https']).optional(),
  /**
   * Who may use agent-sandbox headers: everyone (`none`), users whose Kubernetes token may `create sandboxes/connect` (`token`),
   * holders of an API key of the sandbox's namespace (`apikey`), or the last two (`any`).
   */
  AGENT_SANDBOX_AUTH: auth.default('token'),
  /** Exposes the metrics of agent-sandbox's router as well: a time series for each namespace, method and code. */
  AGENT_SANDBOX_METRICS: flag().default(false),
  /** The same for ROUTER_PORT, which the network policy and the API server's port-forward protect. */
  ROUTER_AUTH: auth.default('none'),
  /** Upper bound of X-Sandbox-Timeout. */
  AGENT_SANDBOX_MAX_TIMEOUT: durationMs().default(3_600_000),
  /** The port of the daemon's agent-sandbox API. It has no authentication, so E2B clients cannot reach it. 0: not served. */
  EXEC_PORT: port().default(8888),
  /**
   * Ed25519 private key in PEM, by which daemons recognise the gateway. Unset: they open neither their tunnel to loopback nor the
   * agent-sandbox API of Sandboxes without a claim.
   */
  GATEWAY_SIGNING_KEY: ed25519PrivateKey().optional(),
  /** Networks of proxies whose X-Forwarded-* headers the gateway trusts. */
  TRUSTED_PROXIES: list().default([]),
  /**
   * Networks that the gateway dials although no pod can be in them, such as 127.0.0.0/8. For tests and development: in
   * production, the status of a Sandbox could make the gateway connect to itself.
   */
  ALLOW_ADDRESSES: list().default([]),
  /** How long a request waits for its sandbox. */
  HOLD_TIMEOUT: durationMs().default(30_000),
  /** How many requests may wait at a time. */
  HOLD_MAX: integer({ min: 0, max: 100_000 }).default(1_000),
  /** How many bytes of waiting requests may be in memory. */
  HOLD_MAX_BYTES: integer({ min: 0 }).default(67_108_864),
  /** How many of them may wait for one sandbox, for the sandboxes of one namespace, and from one source (see `limits/source.ts`). */
  HOLD_MAX_PER_SANDBOX: integer({ min: 1 }).default(200),
  HOLD_MAX_PER_NAMESPACE: integer({ min: 1 }).default(600),
  HOLD_MAX_PER_SOURCE: integer({ min: 1 }).default(600),
  /** Limit for opening a connection to a sandbox. */
  CONNECT_TIMEOUT: durationMs().default(5_000),
  /** Open requests and WebSockets of one sandbox. */
  MAX_CONNECTIONS_PER_SANDBOX: integer({ min: 1 }).default(2_000),
  /** Open requests and WebSockets of all sandboxes of one API key; also its open control-plane requests. */
  MAX_CONNECTIONS_PER_KEY: integer({ min: 1 }).default(10_000),
  /** Open requests and WebSockets of all sandboxes of one namespace. */
  MAX_CONNECTIONS_PER_NAMESPACE: integer({ min: 1 }).default(15_000),
  /** Open client connections of this process; one over TLS counts as five, because it takes as much memory. */
  MAX_CONNECTIONS: integer({ min: 5 }).default(20_000),
  /** How many of them one source may have (see `limits/source.ts`). Trusted proxies have no such limit. */
  MAX_CONNECTIONS_PER_SOURCE: integer({ min: 5 }).default(5_000),
  /** Connections that have not sent a whole head: beyond these limits, and after this time, the oldest is closed. */
  MAX_UNFINISHED_HEADS: integer({ min: 1 }).default(1_000),
  MAX_UNFINISHED_HEADS_PER_SOURCE: integer({ min: 1 }).default(250),
  HEAD_TIMEOUT: durationMs().default(10_000),
  /** Longest interval between two activity reports of a sandbox in use. */
  ACTIVITY_INTERVAL: durationMs().default(30_000),
  /** After SIGTERM: how long the gateway accepts connections, and then how long it waits for open requests. */
  DRAIN_DELAY: durationMs().default(3_000),
  DRAIN_TIMEOUT: durationMs().default(25_000),
  /** What becomes of a client's traceparent: the gateway's traces `link` to it, or it is the `parent` of their spans. */
  CLIENT_TRACES: z.enum(['link', 'parent'], { error: 'one of link, parent' }).default('link'),
});

export type GatewaySettings = z.output<typeof gatewaySettings>;
