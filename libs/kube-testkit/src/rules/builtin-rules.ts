import { isDeepStrictEqual } from 'node:util';
import type { StatusCause } from '../server/api-error.ts';
import type { ApiObject, OpenRecord } from '../storage/api-object.ts';
import { isRecord, recordAt, valueAt } from '../storage/api-object.ts';

/** Validation rules of the real server that matter to controllers. */

export function requiredValue(field: string, detail = ''): StatusCause {
  return {
    reason: 'FieldValueRequired',
    message: detail === '' ? 'Required value' : `Required value: ${detail}`,
    field,
  };
}

export function invalidValue(field: string, value: unknown, detail: string): StatusCause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(value)}: ${detail}`, field };
}

export function forbiddenValue(field: string, detail: string): StatusCause {
  return { reason: 'FieldValueForbidden', message: `Forbidden: ${detail}`, field };
}

function listContainers(pod: ApiObject): OpenRecord[] {
  const containers = recordAt(pod, 'spec')['containers'];
  return Array.isArray(containers) ? containers.filter(isRecord) : [];
}

export function validatePod(pod: ApiObject, old: ApiObject | undefined): StatusCause[] {
  if (old !== undefined) return validatePodUpdate(pod, old);
  const containers = listContainers(pod);
  if (containers.length === 0) return [requiredValue('spec.containers')];
  return containers.flatMap((container, index) =>
    ['name', 'image'].flatMap((member) =>
      typeof container[member] === 'string' ? [] : [requiredValue(`spec.containers[${index}].${member}`)],
    ),
  );
}

const MUTABLE_POD_FIELDS = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

/** The immutable part of a pod's spec: all except images, the deadline and tolerations. */
function validatePodUpdate(pod: ApiObject, old: ApiObject): StatusCause[] {
  if (isDeepStrictEqual(buildFixedPodSpec(pod), buildFixedPodSpec(old))) return [];
  return [forbiddenValue('spec', `pod updates may not change fields other than ${MUTABLE_POD_FIELDS}`)];
}

function buildFixedPodSpec(pod: ApiObject): OpenRecord {
  const withoutImage = (container: unknown): unknown => (isRecord(container) ? { ...container, image: '' } : container);
  const images = (list: unknown): unknown => (Array.isArray(list) ? list.map(withoutImage) : list);
  const spec = recordAt(pod, 'spec');
  return {
    ...spec,
    containers: images(spec['containers']),
    initContainers: images(spec['initContainers']),
    activeDeadlineSeconds: undefined,
    tolerations: undefined,
  };
}

export function validateDisk(disk: ApiObject, old: ApiObject | undefined): StatusCause[] {
  if (old === undefined) {
    const requested = valueAt(disk, ['spec', 'resources', 'requests', 'storage']);
    return [
      ...(Array.isArray(valueAt(disk, ['spec', 'accessModes']))
        ? []
        : [requiredValue('spec.accessModes', 'at least 1 access mode is required')]),
      ...(requested === undefined ? [requiredValue('spec.resources[storage]')] : []),
    ];
  }
  if (isDeepStrictEqual(buildFixedDiskSpec(disk), buildFixedDiskSpec(old))) return [];
  const rule =
    'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
  return [forbiddenValue('spec', rule)];
}

/** The immutable part of the spec. `volumeName` may be set once, to bind the disk. */
function buildFixedDiskSpec(disk: ApiObject): OpenRecord {
  return { ...recordAt(disk, 'spec'), resources: undefined, volumeName: undefined };
}

const EVENT_FIELDS = ['eventTime', 'reportingController', 'reportingInstance', 'action', 'reason'];

export function validateEvent(event: ApiObject, old: ApiObject | undefined): StatusCause[] {
  if (old !== undefined) return [];
  const missing = EVENT_FIELDS.filter((field) => typeof event[field] !== 'string' || event[field] === '');
  const { type = '' } = event;
  const known = type === 'Normal' || type === 'Warning';
  const odd = known ? [] : [invalidValue('type', '', `has invalid value: ${String(type)}`)];
  return [...missing.map((field) => requiredValue(field)), ...odd];
}

const MAX_SERVICE_NAME = 63;

/** The name of a service must be a DNS label. */
export function validateService({ metadata: { name = '' } }: ApiObject): StatusCause[] {
  if (name.includes('.')) return [invalidValue('metadata.name', name, 'must not contain dots')];
  if (name.length <= MAX_SERVICE_NAME) return [];
  return [invalidValue('metadata.name', name, `must be no more than ${MAX_SERVICE_NAME} characters`)];
}
