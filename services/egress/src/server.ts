import { BLOCKED_IPV4, BLOCKED_IPV6 } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { createEventRecorder } from '@sandlot/kube';
import type { EventRecorder, Informer, OwnerReference } from '@sandlot/kube';
import type { ProcessParts, RunningServer } from '@sandlot/service';
import { Addresses } from './controller.ts';
import { findApplied } from './applied/find-applied.ts';
import { ClaimEvents } from './events/claim-events.ts';
import { LastingProblems } from './events/lasting-problems.ts';
import { PlaneConnection } from './plane/connection.ts';
import { readEgressProofs } from '@sandlot/tenancy';
import { followSecrets } from './wiring/secrets.ts';
import { Freshness } from './view/freshness.ts';
import { ProxyServices } from './proxy/services.ts';
import { followRefusals } from './refusals/follow-refusals.ts';
import type { FollowedRefusals } from './refusals/follow-refusals.ts';
import { serveReports } from './reports/serve.ts';
import type { Report } from './reports/serve.ts';
import type { HeldAddress } from './plan/plan.ts';
import type { Values } from './credentials/values.ts';
import { createPlaneMetrics } from './plane/metrics.ts';
import { createInformers } from './wiring/informers.ts';
import type { EgressSettings } from './wiring/settings.ts';

/** Follows the cluster, and says to the data plane what holds for each address. */
export async function startEgress(parts: ProcessParts, settings: EgressSettings): Promise<RunningServer> {
  const { client, clock, log, random, kubeMetrics: metrics } = parts;
  const shared = { client, clock, log, random, metrics };
  const informers = createInformers({ ...shared, namespaces: settings.WATCH_NAMESPACES });
  const { pods, sandboxes, claims, policies } = informers;
  const freshness = createFreshness(parts, settings);
  const { POD_NAMESPACE: namespace, EGRESS_SERVICE: passed, EGRESS_INSPECT_SERVICE: inspected } = settings;
  const proxy = new ProxyServices({ ...shared, namespace, passed, inspected });
  const refusals = followRefusals(claims, clock);
  const { recorder, events, problems } = createEvents(parts, claims);
  const secrets = followSecrets(shared, settings, {
    onValue: (ref, value) => connection.putValue(ref, value),
    onProblem: (...seen) => problems.see(...seen),
  });
  const addresses = new Addresses({
    stores: { pods: pods.store, sandboxes: sandboxes.store, claims: claims.store, policies: policies.store },
    onAddress: (address, sandbox) => connection.put(address, sandbox),
    values: secrets.values,
    proofs: readEgressProofs(settings),
  });
  const connection = new PlaneConnection({
    path: settings.EGRESS_SOCKET,
    blocked: [...BLOCKED_IPV4, ...BLOCKED_IPV6, ...settings.EXTRA_BLOCKED_CIDRS],
    findProxy: () => proxy.find(),
    listAll: () => addresses.list(),
    listValues: () => secrets.values.list(),
    getAgeMs: () => freshness.getAgeMs(),
    onRefused: (refused) => {
      refusals.add(refused);
      events.deny(refused);
    },
    clock,
    log,
  });
  const reports = await serveReports({
    port: settings.PORT,
    claims: claims.store,
    reports: buildReports({ refusals, addresses, connection, values: secrets.values }),
  });
  createPlaneMetrics(parts.registry, connection);
  const ofCluster = [pods, sandboxes, claims, policies];
  const all = [...ofCluster, freshness.informer, ...proxy.informers, ...secrets.informers];
  const following = new DisposableStack();
  for (const each of [addresses.follow(informers), secrets, refusals, events, problems]) following.use(each);
  following.use(proxy.follow(() => connection.renew('the Services of the proxy have changed')));
  const stop = new AbortController();
  const connecting = connectOnceSynced(all, connection, stop.signal);
  const working = Promise.all([freshness.keep(stop.signal), connecting]);
  return {
    ports: { reportsPort: reports.port },
    informers: all,
    drain: async () => {
      stop.abort();
      following.dispose();
      await working;
      await Promise.all([reports.close(), recorder.flush()]);
    },
  };
}

interface Events {
  readonly recorder: EventRecorder;
  readonly events: ClaimEvents;
  readonly problems: LastingProblems;
}

function createEvents(parts: ProcessParts, claims: Informer<SandboxClaim>): Events {
  const { client, clock, log, random, kubeMetrics: metrics, instance } = parts;
  const recorder = createEventRecorder({
    ...{ client, clock, log, random, metrics, instance },
    controller: 'sandlot.dev/egress',
  });
  const events = new ClaimEvents({ recorder, claims, clock });
  return { recorder, events, problems: new LastingProblems(clock, (...missing) => events.miss(...missing)) };
}

interface Reporting {
  readonly refusals: FollowedRefusals;
  readonly addresses: Addresses;
  readonly connection: PlaneConnection;
  readonly values: Values;
}

function buildReports({ refusals, addresses, connection, values }: Reporting): Readonly<Record<string, Report>> {
  const isComplete = ({ address, sandbox }: HeldAddress): boolean =>
    values.hasStored(address) && connection.hasConfirmed(address, sandbox);
  return {
    refusals: (claim) => refusals.report(claim),
    applied: (claim) => findApplied(addresses.listHeld(claim), isComplete) ?? {},
  };
}

/** Half a view would refuse what is allowed, and the data plane keeps the one that it had meanwhile. */
async function connectOnceSynced(
  informers: RunningServer['informers'],
  connection: PlaneConnection,
  stop: AbortSignal,
): Promise<void> {
  await Promise.all(informers.map((informer) => informer.waitUntilSynced(stop)))
    .then(() => connection.keep(stop))
    .catch(() => undefined);
}

/** The Lease of this replica, and how old its view of the cluster is. */
function createFreshness({ client, clock, log }: ProcessParts, settings: EgressSettings): Freshness {
  const { POD_NAMESPACE: namespace, POD_NAME: pod = 'local' } = settings;
  return new Freshness({ client, clock, log, namespace, name: `egress-${pod}`, owner: findPod(settings) });
}

function findPod({ POD_NAME: name, POD_UID: uid }: EgressSettings): OwnerReference | undefined {
  if (name === undefined || uid === undefined) return undefined;
  return { apiVersion: 'v1', kind: 'Pod', name, uid };
}
