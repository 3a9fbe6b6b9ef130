import type { Credentials } from '@sandlot/kube';
import type { ProcessParts } from '@sandlot/service';
import { createAddressRule, parseNetworks } from '../access/address.ts';
import { ApiKeys } from '../access/api-keys.ts';
import { Authoriser } from '../access/authoriser.ts';
import { KubernetesTokens } from '../access/kubernetes-tokens.ts';
import { ActivityTracker } from '../activity/tracker.ts';
import { Directory } from '../directory/directory.ts';
import { ConnectionGuard } from '../listeners/connection-guard.ts';
import type { Listener } from '../listeners/listen.ts';
import { ApiProxy } from '../proxy/api-proxy.ts';
import { closeWithSandboxes } from '../proxy/close-with-sandboxes.ts';
import { ConcurrencyLimit } from '../limits/concurrency-limit.ts';
import type { Exchange } from '../proxy/exchange.ts';
import { OpenExchanges } from '../proxy/open-exchanges.ts';
import { Proofs } from '../proxy/proofs.ts';
import { SandboxProxy } from '../proxy/sandbox-proxy.ts';
import { Upstreams } from '../proxy/upstreams.ts';
import { buildAnswer } from '../refusals/answer.ts';
import type { Refusal } from '../refusals/refusal.ts';
import { parseHostName } from '../routing/classify.ts';
import { Dispatcher } from '../routing/dispatcher.ts';
import { createGatewayMetrics } from '../telemetry/metrics.ts';
import type { GatewayMetrics } from '../telemetry/metrics.ts';
import { createRouterMetrics } from '../telemetry/router-metrics.ts';
import type { RoutedAnswer } from '../telemetry/router-metrics.ts';
import { findCarrier, recordRequest } from '../telemetry/trace.ts';
import { Traffic } from '../telemetry/traffic.ts';
import { HeldRequests } from '../waiting/held-requests.ts';
import { WakeRequester } from '../waiting/wake-requester.ts';
import type { GatewaySettings } from './config.ts';
import type { Informers } from './informers.ts';

export interface ComponentsInput {
  readonly parts: ProcessParts;
  readonly settings: GatewaySettings;
  readonly informers: Informers;
  readonly credentials: Credentials;
}

/** What the server listens with, drains and closes. */
export interface Components extends State {
  readonly dispatcher: Dispatcher;
  readonly api: ApiProxy;
  readonly guard: ConnectionGuard;
}

/** Builds the parts of the gateway and connects them. Nothing listens yet. */
export function createComponents(input: ComponentsInput): Components {
  const { parts, settings, informers } = input;
  const { client, clock, log, registry } = parts;
  const state = createState(parts, settings);
  const metrics = createGatewayMetrics(registry, buildGauges(state));
  const directory = new Directory({
    client,
    informers,
    namespaces: settings.WATCH_NAMESPACES,
    clock,
    log,
    onLookup: (result) => metrics.countLookup(result),
  });
  closeWithSandboxes(informers, directory, state.upstreams);
  const countRequests = (): number => state.upstreams.activeCount;
  const recordRouted = settings.AGENT_SANDBOX_METRICS ? createRouterMetrics(registry, countRequests) : undefined;
  const hooks = createHooks({ parts, settings, metrics, recordRouted });
  const sandboxes = createSandboxProxy({ state, settings, clock, directory, metrics, ...hooks });
  const { API_URL: apiUrl, CONNECT_TIMEOUT: connectMs } = settings;
  const { onAnswer, onRefusal } = hooks;
  const api = new ApiProxy({ apiUrl, connectMs, perKey: state.apiRequestsPerKey, clock, onAnswer });
  const dispatcher = new Dispatcher({
    classifying: {
      domains: new Set(settings.DOMAINS.map(parseHostName)),
      maxTimeoutMs: settings.AGENT_SANDBOX_MAX_TIMEOUT,
    },
    trustedProxies: parseNetworks(settings.TRUSTED_PROXIES),
    authoriser: createAuthoriser(input),
    api,
    sandboxes,
    monotonicMs: () => clock.monotonic(),
    log,
    onRefusal,
  });
  return { ...state, dispatcher, api, guard: createGuard({ parts, settings, metrics }) };
}

type State = ReturnType<typeof createState>;

/** What is counted and kept while the process runs. */
function createState({ bus, clock }: ProcessParts, settings: GatewaySettings) {
  const traffic = new Traffic();
  return {
    traffic,
    upstreams: new Upstreams({
      connectMs: settings.CONNECT_TIMEOUT,
      traffic,
      proofs: new Proofs(settings.GATEWAY_SIGNING_KEY, clock),
      clock,
    }),
    heldRequests: new HeldRequests({
      requests: settings.HOLD_MAX,
      bytes: settings.HOLD_MAX_BYTES,
      perSandbox: settings.HOLD_MAX_PER_SANDBOX,
      perNamespace: settings.HOLD_MAX_PER_NAMESPACE,
      perSource: settings.HOLD_MAX_PER_SOURCE,
    }),
    activity: new ActivityTracker(bus, clock, settings.ACTIVITY_INTERVAL),
    wakeRequester: new WakeRequester(bus, clock),
    openExchanges: new OpenExchanges({
      perSandbox: settings.MAX_CONNECTIONS_PER_SANDBOX,
      perNamespace: settings.MAX_CONNECTIONS_PER_NAMESPACE,
      perKey: settings.MAX_CONNECTIONS_PER_KEY,
    }),
    apiRequestsPerKey: new ConcurrencyLimit(settings.MAX_CONNECTIONS_PER_KEY),
    listeners: [] as Listener[],
    webSockets: { open: 0 },
  };
}

function buildGauges({ listeners, webSockets, upstreams, heldRequests, traffic }: State) {
  return {
    countClients: () => listeners.reduce((sum, listener) => sum + listener.countConnections(), 0),
    countWebSockets: () => webSockets.open,
    countRequests: () => upstreams.activeCount,
    countHeld: () => heldRequests.count,
    countSandboxes: () => upstreams.size,
    sumTraffic: () => traffic.totals,
  };
}

interface Hooks {
  readonly onAnswer: (exchange: Exchange, status: number, namespace?: string) => void;
  readonly onRefusal: (exchange: Exchange, refusal: Refusal) => void;
}

interface Measuring {
  readonly parts: ProcessParts;
  readonly settings: GatewaySettings;
  readonly metrics: GatewayMetrics;
  /** Absent unless settings ask for the metrics of agent-sandbox's router. */
  readonly recordRouted?: ((answer: RoutedAnswer) => void) | undefined;
}

/** Metrics and spans of answers, the gateway's own included. */
function createHooks(measuring: Measuring): Hooks {
  const onAnswer = (exchange: Exchange, status: number, namespace?: string): void =>
    recordAnswer(measuring, { exchange, status, namespace });
  return {
    onAnswer,
    onRefusal: (exchange, refusal) => {
      measuring.metrics.countRefusal(refusal.kind);
      if (refusal.kind === 'limited') measuring.metrics.countLimit(refusal.limit);
      onAnswer(exchange, buildAnswer(refusal, { dialect: exchange.dialect, html: false }).status);
    },
  };
}

interface Answered {
  readonly exchange: Exchange;
  readonly status: number;
  /** Absent if no sandbox was found. */
  readonly namespace: string | undefined;
}

function recordAnswer({ parts: { clock }, settings, metrics, recordRouted }: Measuring, answered: Answered): void {
  const { exchange, status, namespace } = answered;
  const carrier = findCarrier(exchange.request);
  const tookMs = clock.monotonic() - exchange.startedMs;
  const seconds = tookMs / 1_000;
  metrics.recordAnswer({ route: exchange.route, status, seconds, carrier });
  if (exchange.route !== 'control')
    recordRouted?.({ method: exchange.request.method ?? '', status, seconds, namespace });
  if (carrier === undefined || settings.CLIENT_TRACES !== 'parent') return;
  const endMs = clock.now();
  recordRequest({ carrier, status, startMs: endMs - tookMs, endMs });
}

function createGuard({ parts: { clock }, settings, metrics }: Measuring): ConnectionGuard {
  const limits = {
    connections: settings.MAX_CONNECTIONS,
    perSource: settings.MAX_CONNECTIONS_PER_SOURCE,
    heads: settings.MAX_UNFINISHED_HEADS,
    headsPerSource: settings.MAX_UNFINISHED_HEADS_PER_SOURCE,
    headMs: settings.HEAD_TIMEOUT,
  };
  return new ConnectionGuard(limits, clock, (limit) => metrics.countLimit(limit));
}

interface SandboxProxyInput extends Hooks {
  readonly state: State;
  readonly settings: GatewaySettings;
  readonly clock: ProcessParts['clock'];
  readonly directory: Directory;
  readonly metrics: GatewayMetrics;
}

function createSandboxProxy({ state, settings, ...shared }: SandboxProxyInput): SandboxProxy {
  const { activity, webSockets } = state;
  return new SandboxProxy({
    ...state,
    ...shared,
    trustedProxies: parseNetworks(settings.TRUSTED_PROXIES),
    isDialable: createAddressRule(settings.ALLOW_ADDRESSES),
    execPort: settings.EXEC_PORT,
    holdMs: settings.HOLD_TIMEOUT,
    traces: settings.CLIENT_TRACES,
    onBegin: (target) => activity.begin(target),
    onEnd: (target) => activity.end(target),
    onUpgrade: (change) => (webSockets.open += change),
  });
}

function createAuthoriser({ parts: { clock, log }, settings, credentials }: ComponentsInput): Authoriser {
  return new Authoriser({
    tokens: new KubernetesTokens({ credentials, clock, log }),
    keys: new ApiKeys({ apiUrl: settings.API_URL, clock, log }),
  });
}
