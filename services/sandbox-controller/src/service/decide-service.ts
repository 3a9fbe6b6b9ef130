import { labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { JsonObject, Service } from '@sandlot/kube';
import { wantsService } from './authorship.ts';
import { ownerReference, ownershipOf, refusalOf, takeOver, trackingLabel } from '../ownership/ownership.ts';
import { samePorts, servicePorts } from './service-ports.ts';
import { failed, isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan, Step } from '../plan/steps.ts';

/** The headless Service: made when wanted, removed when refused, and otherwise an owned one is kept in shape. */
export function decideService(snapshot: Snapshot): Plan {
  const { sandbox, service, settings } = snapshot;
  if (failed(snapshot, 'service') || snapshot.ownedPods.length > 1) return [];
  if (sandbox.spec.service === false) return decideRemoval(sandbox, service);
  const wanted = wantsService(sandbox, settings.unsetService);
  if (service === undefined)
    return wanted ? [{ kind: 'createService', phase: 'service', service: buildService(sandbox) }] : [];
  return decideExisting({ sandbox, service, wanted });
}

/** The Service this Sandbox uses: its own, unless it asked for none. */
export function serviceInUse({ sandbox, service }: Snapshot): Service | undefined {
  if (service === undefined || sandbox.spec.service === false || isTerminating(service)) return undefined;
  return ownershipOf(service, sandbox) === 'ours' ? service : undefined;
}

/** Whether Ready needs the Service: asked for, or unset with one in use (API contract, conditions). */
export function needsService(snapshot: Snapshot): boolean {
  return wantsService(snapshot.sandbox, snapshot.settings.unsetService) || serviceInUse(snapshot) !== undefined;
}

function decideRemoval(sandbox: Sandbox, service: Service | undefined): Step[] {
  if (service === undefined || isTerminating(service) || ownershipOf(service, sandbox) !== 'ours') return [];
  return [{ kind: 'deleteService', service, phase: 'service' }];
}

interface Existing {
  readonly sandbox: Sandbox;
  readonly service: Service;
  readonly wanted: boolean;
}

function decideExisting(existing: Existing): Step[] {
  const { sandbox, service, wanted } = existing;
  const isOurs = ownershipOf(service, sandbox) === 'ours';
  if (isTerminating(service) || (!isOurs && !wanted)) return [];
  const refusal = refusalOf('service', service, sandbox) ?? refusalOfClusterIp(service, isOurs);
  if (refusal !== undefined) return [{ kind: 'refuse', phase: 'service', message: refusal }];
  const spec = specDrift(existing);
  if (isOurs && spec === undefined && hasTrackingLabel(existing)) return [];
  const owner = isOurs ? { uid: service.metadata.uid } : takeOver(service, sandbox);
  const metadata = { ...owner, labels: trackingLabel(sandbox) };
  return [{ kind: 'patchService', phase: 'service', service, patch: { metadata, spec } }];
}

function hasTrackingLabel({ sandbox, service }: Existing): boolean {
  return service.metadata.labels?.[labels.nameHash] === trackingLabel(sandbox)[labels.nameHash];
}

/** An address cannot be taken from a Service: only a headless one can become ours. */
function refusalOfClusterIp(service: Service, isOurs: boolean): string | undefined {
  const clusterIP = service.spec?.clusterIP ?? '';
  if (isOurs || clusterIP === '' || clusterIP === 'None') return undefined;
  const name = service.metadata.name ?? '';
  return `cannot adopt service "${name}": ClusterIP is "${clusterIP}" (expected "None", field is immutable)`;
}

/** Selector drift is always repaired; ports are ours only when the Sandbox asks for the Service. */
function specDrift(existing: Existing): JsonObject | undefined {
  const drift = { ...selectorDrift(existing), ...(existing.wanted ? portDrift(existing) : {}) };
  return Object.keys(drift).length === 0 ? undefined : drift;
}

function selectorDrift({ sandbox, service }: Existing): JsonObject {
  const wanted = trackingLabel(sandbox);
  const present = service.spec?.selector ?? {};
  const extra = Object.keys(present).filter((key) => wanted[key] === undefined);
  if (extra.length === 0 && Object.entries(wanted).every(([key, value]) => present[key] === value)) return {};
  const selector = { ...Object.fromEntries(extra.map((key) => [key, null])), ...wanted };
  return { selector, ...familiesForSelector(service) };
}

/**
 * API servers give a headless Service without a selector both address families, whatever the cluster has, and refuse those
 * it has not once there is a selector. It gets the one family that a Service of ours has from the start.
 */
function familiesForSelector({ spec: { selector = {}, ipFamilyPolicy, ipFamilies = [] } = {} }: Service): JsonObject {
  if (Object.keys(selector).length > 0 || ipFamilyPolicy !== 'RequireDualStack') return {};
  return { ipFamilyPolicy: 'SingleStack', ipFamilies: ipFamilies.slice(0, 1) };
}

function portDrift({ sandbox, service }: Existing): JsonObject {
  const ports = servicePorts(sandbox.spec.podTemplate.spec);
  return samePorts(service.spec?.ports ?? [], ports) ? {} : { ports: ports.map((port) => ({ ...port })) };
}

function buildService(sandbox: Sandbox): Service {
  const { name, namespace } = sandbox.metadata;
  const ports = servicePorts(sandbox.spec.podTemplate.spec);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: trackingLabel(sandbox), ownerReferences: [ownerReference(sandbox)] },
    spec: { clusterIP: 'None', selector: trackingLabel(sandbox), ...(ports.length === 0 ? {} : { ports }) },
  };
}
