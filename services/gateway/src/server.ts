import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { loadCredentials } from '@sandlot/kube';
import type { Change, Credentials } from '@sandlot/kube';
import type { ProcessParts, RunningServer } from '@sandlot/service';
import { Activity } from './activity/tracker.ts';
import { addressRule, networks } from './access/address.ts';
import { ApiKeys } from './access/api-keys.ts';
import { Bearers } from './access/kubernetes-tokens.ts';
import { createInformers } from './wiring/informers.ts';
import type { Informers } from './wiring/informers.ts';
import type { Call } from './proxy/exchange.ts';
import { Callers } from './access/authoriser.ts';
import { hostName } from './routing/classify.ts';
import type { GatewaySettings } from './wiring/config.ts';
import { ControlPlane } from './proxy/api-proxy.ts';
import { Counters } from './proxy/concurrency-limit.ts';
import { endOfIncarnation } from './decide.ts';
import { drain } from './listeners/drain.ts';
import { Gateway } from './routing/dispatcher.ts';
import { Holds } from './waiting/held-requests.ts';
import { listen, listenSecurely } from './listeners/listen.ts';
import type { Listener } from './listeners/listen.ts';
import { createGatewayMetrics } from './telemetry/metrics.ts';
import type { GatewayMetrics } from './telemetry/metrics.ts';
import { answerOf } from './refusals/answer.ts';
import type { Refusal } from './refusals/refusal.ts';
import { Routes } from './directory/directory.ts';
import type { RoutesOptions } from './directory/directory.ts';
import { SandboxDoor } from './proxy/sandbox-proxy.ts';
import { carrierOf, recordRequest } from './telemetry/trace.ts';
import { Traffic } from './telemetry/traffic.ts';
import { Upstreams } from './proxy/upstreams.ts';
import { Wishes } from './waiting/wake-requester.ts';

/** How often what nobody uses any more is forgotten. */
const SWEEP_MS = 30_000;

/** Builds the gateway; it listens when this resolves. Rejects when a port cannot be bound or a setting makes no sense. */
export async function startGateway(parts: ProcessParts, settings: GatewaySettings): Promise<RunningServer> {
  const { clock } = parts;
  const informers = createInformers({ ...parts, namespace: settings.WATCH_NAMESPACE, metrics: parts.kubeMetrics });
  const state = createState(parts, settings);
  const credentials = await loadCredentials({ kubeconfig: settings.KUBECONFIG, mount: settings.SERVICE_ACCOUNT_DIR });
  const { holds, activity, upstreams, listeners } = state;
  const { gateway, control } = createDoors({ parts, settings, state, informers, credentials });
  const ports = await openListeners({ gateway, settings, parts }, listeners);
  const sweeping = repeated(parts, () => upstreams.sweep());
  return {
    ports,
    informers: [informers.claims, informers.sandboxes],
    drain: async () => {
      await drain({ listeners, clock, isIdle: () => upstreams.ongoing === 0 && holds.count === 0, settings });
      sweeping[Symbol.dispose]();
      activity.close();
      upstreams.close();
      control.close();
      await Promise.all(listeners.map((listener) => listener.close()));
    },
  };
}

type State = ReturnType<typeof createState>;

/** What the process holds on to. */
function createState({ bus, clock }: ProcessParts, settings: GatewaySettings) {
  const traffic = new Traffic();
  return {
    traffic,
    upstreams: new Upstreams({ connectMs: settings.CONNECT_TIMEOUT, traffic }),
    holds: new Holds(settings.HOLD_MAX, settings.HOLD_MAX_BYTES),
    activity: new Activity(bus, clock, settings.ACTIVITY_INTERVAL),
    wishes: new Wishes(bus, clock),
    perSandbox: new Counters(settings.MAX_CONNECTIONS_PER_SANDBOX),
    perKey: new Counters(settings.MAX_CONNECTIONS_PER_KEY),
    perCaller: new Counters(settings.MAX_CONNECTIONS_PER_KEY),
    listeners: [] as Listener[],
    webSockets: 0,
  };
}

interface DoorInput {
  readonly parts: ProcessParts;
  readonly settings: GatewaySettings;
  readonly state: State;
  readonly informers: Informers;
  readonly credentials: Credentials;
}

function createDoors({ parts, settings, state, informers, credentials }: DoorInput): {
  gateway: Gateway;
  control: ControlPlane;
} {
  const { client, clock, log, registry } = parts;
  const { upstreams, holds, activity } = state;
  const metrics = createGatewayMetrics(registry, {
    clients: () => state.listeners.reduce((sum, listener) => sum + listener.connections(), 0),
    webSockets: () => state.webSockets,
    requests: () => upstreams.ongoing,
    held: () => holds.count,
    sandboxes: () => upstreams.size,
    traffic: () => state.traffic.totals,
  });
  const onLookup: RoutesOptions['onLookup'] = (result) => metrics.lookedUp(result);
  const routes = new Routes({ client, informers, namespace: settings.WATCH_NAMESPACE, clock, log, onLookup });
  closeWithSandboxes(informers, routes, upstreams);
  const onAnswer = (call: Call, status: number): void => answered({ parts, settings, metrics }, call, status);
  const refused = (call: Call, refusal: Refusal): void => {
    metrics.refused(refusal.kind);
    onAnswer(call, answerOf(refusal, { dialect: call.dialect, html: false }).status);
  };
  const sandboxes = new SandboxDoor({
    ...state,
    routes,
    metrics,
    clock,
    isRoutable: addressRule(settings.ALLOW_ADDRESSES),
    execPort: settings.EXEC_PORT,
    holdMs: settings.HOLD_TIMEOUT,
    traces: settings.CLIENT_TRACES,
    onAnswer,
    refused,
    began: (target) => activity.began(target),
    ended: (target) => activity.ended(target),
    onUpgrade: (change) => (state.webSockets += change),
  });
  const { API_URL: apiUrl, CONNECT_TIMEOUT: connectMs } = settings;
  const control = new ControlPlane({ apiUrl, connectMs, perKey: state.perCaller, clock, onAnswer });
  const gateway = new Gateway({
    classifying: { domains: new Set(settings.DOMAINS.map(hostName)), maxTimeoutMs: settings.AGENT_SANDBOX_MAX_TIMEOUT },
    origins: { trusted: networks(settings.TRUSTED_PROXIES) },
    callers: new Callers({
      bearers: new Bearers({ credentials, clock, log }),
      keys: new ApiKeys({ apiUrl, clock, log }),
    }),
    control,
    sandboxes,
    now: () => clock.monotonic(),
    log,
    refused,
  });
  return { gateway, control };
}

interface Measuring {
  readonly parts: ProcessParts;
  readonly settings: GatewaySettings;
  readonly metrics: GatewayMetrics;
}

function answered({ parts: { clock }, settings, metrics }: Measuring, call: Call, status: number): void {
  const carrier = carrierOf(call.request);
  const tookMs = clock.monotonic() - call.startedMs;
  metrics.answered({ route: call.route, status, seconds: tookMs / 1_000, carrier });
  if (carrier === undefined || settings.CLIENT_TRACES !== 'parent') return;
  const endMs = clock.now();
  recordRequest({ carrier, status, startMs: endMs - tookMs, endMs });
}

/** Ends what goes on with a sandbox as soon as the watches tell that the sandbox, or its pod, is over. */
function closeWithSandboxes({ claims, sandboxes }: Informers, routes: Routes, upstreams: Upstreams): void {
  const look = (uid: string, sandbox: Sandbox | undefined): void => {
    const upstream = upstreams.of(uid);
    if (upstream === undefined) return;
    const claim = sandbox === undefined ? undefined : routes.claimOf(sandbox);
    const end = endOfIncarnation(upstream.target, { claim, sandbox });
    if (end !== undefined) upstreams.drop(uid, end);
  };
  sandboxes.onChange(({ old, next }: Change<Sandbox>) => look((next ?? old)?.metadata.uid ?? '', next));
  claims.onChange(({ old, next }: Change<SandboxClaim>) => {
    const claim = next ?? old;
    const name = claim?.status?.sandbox?.name;
    if (claim === undefined || name === undefined) return;
    const sandbox = sandboxes.store.get(`${claim.metadata.namespace}/${name}`);
    if (sandbox !== undefined) look(sandbox.metadata.uid ?? '', sandbox);
  });
}

interface Listening {
  readonly gateway: Gateway;
  readonly settings: GatewaySettings;
  readonly parts: ProcessParts;
}

async function openListeners(
  { gateway, settings, parts }: Listening,
  listeners: Listener[],
): Promise<Record<string, number>> {
  const { ROUTER_PORT, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, MAX_CONNECTIONS: maxConnections } = settings;
  const front = { only: undefined, auth: settings.AGENT_SANDBOX_AUTH } as const;
  const ports: Record<string, number> = {};
  const add = (name: string, listener: Listener): void => {
    listeners.push(listener);
    ports[name] = listener.port;
  };
  add('port', await listen({ gateway, door: front, port: settings.PORT, maxConnections }));
  if (certFile !== undefined && keyFile !== undefined) {
    const files = { certFile, keyFile, checkMs: settings.TLS_CHECK_INTERVAL, clock: parts.clock, log: parts.log };
    add('tlsPort', await listenSecurely({ gateway, door: front, port: settings.TLS_PORT, maxConnections, ...files }));
  }
  if (ROUTER_PORT !== undefined) {
    const door = { only: 'router', auth: settings.ROUTER_AUTH } as const;
    add('routerPort', await listen({ gateway, door, port: ROUTER_PORT, maxConnections }));
  }
  return ports;
}

function repeated({ clock }: ProcessParts, work: () => void): Disposable {
  const arm = () =>
    clock.setTimeout(() => {
      work();
      timer = arm();
    }, SWEEP_MS);
  let timer = arm();
  return { [Symbol.dispose]: () => timer.cancel() };
}
