import { randomUUID } from 'node:crypto';
import { USAGE_BUCKET } from '@sandlot/bus';
import type { ProcessParts, RunningServer } from '@sandlot/service';
import type { Clock } from '@sandlot/std';
import { CreateRates, deriveBuilderToken, Places, readTokenKeys, watchKeys } from '@sandlot/tenancy';
import type { TokenKeys, WatchedKeyRing } from '@sandlot/tenancy';
import type { AuditDeps } from '../audit/requests.ts';
import { createBuilder } from '../e2b/builds/builder/builder.ts';
import { FileServer } from '../e2b/volumes/content/file-server.ts';
import { EndedSandboxes } from '../e2b/logs/ended/ended-sandboxes.ts';
import { createLogStore } from '../e2b/logs/store/log-store.ts';
import type { History } from '../e2b/metrics/history/history.ts';
import { createCreateMetrics } from '../e2b/operations/create-metrics.ts';
import { createRequestMetrics } from '../http/metrics.ts';
import type { RequestMetrics } from '../http/metrics.ts';
import { CreateLedger } from '../idempotency/ledger.ts';
import { buildAllowance } from '../limits/allowance.ts';
import { CreateRate } from '../limits/create-rate.ts';
import type { Limits } from '../limits/limits.ts';
import { SandboxQuota } from '../limits/sandbox-quota.ts';
import type { EgressReplicas } from '../replicas/ask-replicas.ts';
import type { OperationDeps } from './routes.ts';
import { TemplateBuilds } from '../state/builds.ts';
import { SavedMemory } from '../state/saved-memory.ts';
import { ClusterState } from '../state/cluster-state.ts';
import { Snapshots } from '../state/snapshots.ts';
import type { ApiSettings } from './config.ts';
import { readLogStore } from './log-store-settings.ts';
import { createInformers } from './informers.ts';
import type { Informers } from './informers.ts';

/** The parts of the API, wired together. Operations see only the parts that they use. */
export type ApiParts = OperationDeps &
  AuditDeps & {
    readonly clock: Clock;
    readonly keys: WatchedKeyRing;
    readonly informers: Pick<Informers, 'claims'>;
    readonly requestMetrics: RequestMetrics;
  };

export interface Assembled {
  readonly parts: ApiParts;
  /** The informers that the process must run. */
  readonly informers: RunningServer['informers'];
}

export interface AssembleOptions {
  /** Aborts when the process starts to shut down. */
  readonly closing: AbortSignal;
  readonly history: History | undefined;
}

/** Wires the parts of the API together. */
export function assemble(process: ProcessParts, settings: ApiSettings, options: AssembleOptions): Assembled {
  const { client, bus, clock, random, log, kubeMetrics, registry } = process;
  const shared = { client, clock, random, log, metrics: kubeMetrics };
  const { WATCH_NAMESPACES: namespaces } = settings;
  const abilities = {
    savesMemory: settings.SNAPSHOTS_ENABLED,
    buildsTemplates: settings.BUILDER_URL !== undefined,
  };
  const informers = createInformers({ ...shared, namespaces }, abilities);
  const { KEYS_NAMESPACE: keysNamespace, ENVS_NAMESPACE: envsNamespace } = settings;
  const keys = watchKeys({
    ...shared,
    namespace: keysNamespace,
    onMalformed: (name) =>
      log.warn({ secret: name }, 'a Secret has the label of an API key but is not a valid key; correct or delete it'),
  });
  const state = new ClusterState({ client, bus, informers, clock, log });
  keys.informer.onChange(() => state.waiters.notify('keys'));
  const { snapshots, builds } = informers;
  const always = [informers.claims, informers.sandboxes, informers.pools, informers.templates, keys.informer];
  const all = [...always, ...[snapshots, builds].filter((informer) => informer !== undefined)];
  const tokenKeys = readTokenKeys(settings);
  const { POD_NAMESPACE: namespace, ENVD_VERSION: envdVersion } = settings;
  const claims = () => informers.claims.store.values();
  const parts: ApiParts = {
    ...{ client, bus, clock, log, informers },
    state,
    keys,
    ...options,
    usage: settings.USAGE_ENABLED ? bus.openBucket(USAGE_BUCKET) : undefined,
    keysNamespace,
    envsNamespace,
    vaultNamespace: settings.VAULT_NAMESPACE,
    secretsLimit: settings.VAULT_SECRETS_LIMIT,
    ...findHooks(settings),
    namespaces,
    limits: createLimits(process, { settings, state, keys }),
    ledger: new CreateLedger({ client, clock, log, namespace, envdVersion, listClaims: claims }),
    answers: { tokenKeys, envdVersion, domain: settings.SANDBOX_DOMAIN },
    requestMetrics: createRequestMetrics(registry),
    createMetrics: createCreateMetrics(registry),
    gatewayUrl: settings.GATEWAY_URL,
    ...createLogParts(process, { settings, informers }),
    createTimeoutMs: settings.CREATE_TIMEOUT,
    transitionTimeoutMs: settings.TRANSITION_TIMEOUT,
    snapshots: new Snapshots({ client, informer: informers.snapshots, waiters: state.waiters, clock }),
    ...createBuildParts(process, { settings, informers, tokenKeys }),
    ...createVolumeParts(process, settings, tokenKeys),
    savedMemory: new SavedMemory(client, settings.SNAPSHOTS_ENABLED),
    pauseFallsBack: settings.PAUSE_MEMORY_FALLBACK,
    egressReplicas: findEgressReplicas(settings),
    version: settings.BUILD_VERSION,
    isSynced: () => all.every((informer) => informer.hasSynced()),
  };
  return { parts, informers: all };
}

function createLogParts(
  { bus, clock, log }: ProcessParts,
  { settings, informers }: Pick<BuildInputs, 'settings' | 'informers'>,
) {
  const logStore = settings.LOG_STORE_URL === undefined ? undefined : createLogStore(readLogStore(settings), log);
  return { logStore, endedSandboxes: new EndedSandboxes({ bus, informers, clock }) };
}

interface BuildInputs {
  readonly settings: ApiSettings;
  readonly informers: Informers;
  readonly tokenKeys: TokenKeys;
}

function createBuildParts({ client, clock }: ProcessParts, { settings, informers, tokenKeys }: BuildInputs) {
  const mostUnfinished = settings.BUILDS_UNFINISHED_PER_NAMESPACE;
  return {
    builds: new TemplateBuilds({ client, informer: informers.builds, clock, mostUnfinished }),
    builder: createBuilder(settings.BUILDER_URL, deriveBuilderToken(tokenKeys)),
    newBuildId: randomUUID,
    uploadPlaces: new Places(),
    mostFileBytes: settings.BUILD_FILES_MAX_BYTES,
  };
}

function createVolumeParts({ client, clock }: ProcessParts, settings: ApiSettings, tokenKeys: TokenKeys) {
  const { VOLUMES_NAMESPACE: namespace, VOLUMES_LIMIT: limit, VOLUME_SERVER_URL: url } = settings;
  return {
    volumeRegistry: namespace === undefined ? undefined : { client, namespace, limit },
    fileServer: new FileServer({ url, tokenKeys, clock }),
    transferPlaces: new Places(),
  };
}

function findHooks(settings: ApiSettings): Pick<ApiParts, 'hooks' | 'webhooksLimit'> {
  const { HOOKS_NAMESPACE: namespace, WEBHOOKS_URL: workerUrl, WEBHOOKS_LIMIT: webhooksLimit } = settings;
  if (namespace === undefined || workerUrl === undefined) return { hooks: undefined, webhooksLimit };
  const targets = {
    privateAddresses: settings.WEBHOOK_PRIVATE_ADDRESSES,
    blockedAddresses: settings.WEBHOOK_BLOCKED_ADDRESSES,
    ports: settings.WEBHOOK_PORTS,
  };
  return { hooks: { namespace, workerUrl, targets }, webhooksLimit };
}

function findEgressReplicas({
  EGRESS_REPORTS_HOST: host,
  EGRESS_REPORTS_PORT: port,
}: ApiSettings): EgressReplicas | undefined {
  return host === undefined ? undefined : { host, port };
}

interface LimitParts {
  readonly settings: ApiSettings;
  readonly state: ClusterState;
  readonly keys: WatchedKeyRing;
}

function createLimits({ bus, clock, instance }: ProcessParts, { settings, state, keys }: LimitParts): Limits {
  const defaults = {
    sandboxes: settings.DEFAULT_SANDBOX_LIMIT,
    createsPerSecond: settings.DEFAULT_CREATE_RATE,
    maxTimeoutSeconds: Math.floor(settings.MAX_SANDBOX_TIMEOUT / 1_000),
  };
  const allowances: Limits['getAllowance'] = (key) => buildAllowance(key, defaults);
  return {
    getAllowance: allowances,
    createRate: new CreateRate({ rates: new CreateRates(), getAllowance: allowances, clock, bus, keys, instance }),
    sandboxQuota: new SandboxQuota({ state, places: new Places(), getAllowance: allowances }),
  };
}
