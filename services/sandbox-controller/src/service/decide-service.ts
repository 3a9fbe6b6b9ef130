import { labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { JsonObject, Service } from '@sandlot/kube/objects';
import { wantsService } from './authorship.ts';
import {
  buildOwnerReference,
  getOwnership,
  findRefusal,
  takeOver,
  buildTrackingLabel,
} from '../ownership/ownership.ts';
import { hasSamePorts, listServicePorts } from './service-ports.ts';
import { hasFailed, isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan, Step } from '../plan/steps.ts';

/** The headless Service: created when wanted, deleted for `service: false`; otherwise an owned one is kept up to date. */
export function decideService(snapshot: Snapshot): Plan {
  const { sandbox, service, settings } = snapshot;
  if (hasFailed(snapshot, 'service') || snapshot.ownedPods.length > 1) return [];
  if (sandbox.spec.service === false) return decideRemoval(sandbox, service);
  const wanted = wantsService(sandbox, settings.unsetService);
  if (service === undefined)
    return wanted ? [{ kind: 'createService', phase: 'service', service: buildService(sandbox) }] : [];
  return decideExisting({ sandbox, service, wanted });
}

/** The Service that this Sandbox uses: its own, unless `service` is false. */
export function findServiceInUse({ sandbox, service }: Snapshot): Service | undefined {
  if (service === undefined || sandbox.spec.service === false || isTerminating(service)) return undefined;
  return getOwnership(service, sandbox) === 'ours' ? service : undefined;
}

/** Whether Ready needs the Service: it is wanted, or unset with one in use. See docs/reference/sandbox.md#conditions. */
export function needsService(snapshot: Snapshot): boolean {
  return wantsService(snapshot.sandbox, snapshot.settings.unsetService) || findServiceInUse(snapshot) !== undefined;
}

function decideRemoval(sandbox: Sandbox, service: Service | undefined): Step[] {
  if (service === undefined || isTerminating(service) || getOwnership(service, sandbox) !== 'ours') return [];
  return [{ kind: 'deleteService', service, phase: 'service' }];
}

interface Existing {
  readonly sandbox: Sandbox;
  readonly service: Service;
  readonly wanted: boolean;
}

function decideExisting(existing: Existing): Step[] {
  const { sandbox, service, wanted } = existing;
  const isOurs = getOwnership(service, sandbox) === 'ours';
  if (isTerminating(service) || (!isOurs && !wanted)) return [];
  const refusal = findRefusal('service', service, sandbox) ?? findRefusalOfClusterIp(service, isOurs);
  if (refusal !== undefined) return [{ kind: 'reportFailure', phase: 'service', message: refusal }];
  const spec = findSpecDrift(existing);
  if (isOurs && spec === undefined && hasTrackingLabel(existing)) return [];
  const owner = isOurs ? { uid: service.metadata.uid } : takeOver(service, sandbox);
  const metadata = { ...owner, labels: buildTrackingLabel(sandbox) };
  return [{ kind: 'patchService', phase: 'service', service, patch: { metadata, spec } }];
}

function hasTrackingLabel({ sandbox, service }: Existing): boolean {
  return service.metadata.labels?.[labels.nameHash] === buildTrackingLabel(sandbox)[labels.nameHash];
}

/** The clusterIP of a Service is immutable, so only a headless one can become ours. */
function findRefusalOfClusterIp(service: Service, isOurs: boolean): string | undefined {
  const clusterIP = service.spec?.clusterIP ?? '';
  if (isOurs || clusterIP === '' || clusterIP === 'None') return undefined;
  const name = service.metadata.name ?? '';
  return `cannot adopt service "${name}": ClusterIP is "${clusterIP}" (expected "None", field is immutable)`;
}

/** Drift of the selector is always repaired, drift of the ports only when the Sandbox wants the Service. */
function findSpecDrift(existing: Existing): JsonObject | undefined {
  const drift = { ...buildSelectorDrift(existing), ...(existing.wanted ? buildPortDrift(existing) : {}) };
  return Object.keys(drift).length === 0 ? undefined : drift;
}

function buildSelectorDrift({ sandbox, service }: Existing): JsonObject {
  const wanted = buildTrackingLabel(sandbox);
  const present = service.spec?.selector ?? {};
  const extra = Object.keys(present).filter((key) => wanted[key] === undefined);
  if (extra.length === 0 && Object.entries(wanted).every(([key, value]) => present[key] === value)) return {};
  const selector = { ...Object.fromEntries(extra.map((key) => [key, null])), ...wanted };
  return { selector, ...mapFamilies(service) };
}

/**
 * API servers give a headless Service without a selector both address families, whatever the cluster supports, and refuse
 * the unsupported one once there is a selector. So it gets one family, as a Service that the controller creates.
 */
function mapFamilies({ spec: { selector = {}, ipFamilyPolicy, ipFamilies = [] } = {} }: Service): JsonObject {
  if (Object.keys(selector).length > 0 || ipFamilyPolicy !== 'RequireDualStack') return {};
  return { ipFamilyPolicy: 'SingleStack', ipFamilies: ipFamilies.slice(0, 1) };
}

function buildPortDrift({ sandbox, service }: Existing): JsonObject {
  const ports = listServicePorts(sandbox.spec.podTemplate.spec);
  return hasSamePorts(service.spec?.ports ?? [], ports) ? {} : { ports: ports.map((port) => ({ ...port })) };
}

function buildService(sandbox: Sandbox): Service {
  const { name, namespace } = sandbox.metadata;
  const ports = listServicePorts(sandbox.spec.podTemplate.spec);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: buildTrackingLabel(sandbox), ownerReferences: [buildOwnerReference(sandbox)] },
    spec: { clusterIP: 'None', selector: buildTrackingLabel(sandbox), ...(ports.length === 0 ? {} : { ports }) },
  };
}
