import { isDeepStrictEqual } from 'node:util';
import type { StatusCause } from '../server/api-error.ts';
import type { ApiObject, OpenRecord } from '../storage/api-object.ts';
import { isRecord, recordAt, valueAt } from '../storage/api-object.ts';

/** The refusals of the real server that controllers run into. */

export function required(field: string, detail = ''): StatusCause {
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

function containersOf(pod: ApiObject): OpenRecord[] {
  const containers = recordAt(pod, 'spec')['containers'];
  return Array.isArray(containers) ? containers.filter(isRecord) : [];
}

export function validatePod(pod: ApiObject, old: ApiObject | undefined): StatusCause[] {
  if (old !== undefined) return validatePodUpdate(pod, old);
  const containers = containersOf(pod);
  if (containers.length === 0) return [required('spec.containers')];
  return containers.flatMap((container, index) =>
    ['name', 'image'].flatMap((member) =>
      typeof container[member] === 'string' ? [] : [required(`spec.containers[${index}].${member}`)],
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

/** A pod's spec is fixed apart from images, the deadline and tolerations. */
function validatePodUpdate(pod: ApiObject, old: ApiObject): StatusCause[] {
  if (isDeepStrictEqual(fixedPodSpec(pod), fixedPodSpec(old))) return [];
  return [forbiddenValue('spec', `pod updates may not change fields other than ${MUTABLE_POD_FIELDS}`)];
}

function fixedPodSpec(pod: ApiObject): OpenRecord {
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

export function validateClaim(claim: ApiObject, old: ApiObject | undefined): StatusCause[] {
  if (old === undefined) {
    const requested = valueAt(claim, ['spec', 'resources', 'requests', 'storage']);
    return [
      ...(Array.isArray(valueAt(claim, ['spec', 'accessModes']))
        ? []
        : [required('spec.accessModes', 'at least 1 access mode is required')]),
      ...(requested === undefined ? [required('spec.resources[storage]')] : []),
    ];
  }
  if (isDeepStrictEqual(fixedClaimSpec(claim), fixedClaimSpec(old))) return [];
  const rule =
    'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
  return [forbiddenValue('spec', rule)];
}

/** `volumeName` may be set once: that is how a claim is bound. */
function fixedClaimSpec(claim: ApiObject): OpenRecord {
  return { ...recordAt(claim, 'spec'), resources: undefined, volumeName: undefined };
}

const EVENT_FIELDS = ['eventTime', 'reportingController', 'reportingInstance', 'action', 'reason'];

export function validateEvent(event: ApiObject, old: ApiObject | undefined): StatusCause[] {
  if (old !== undefined) return [];
  const missing = EVENT_FIELDS.filter((field) => typeof event[field] !== 'string' || event[field] === '');
  const { type = '' } = event;
  const known = type === 'Normal' || type === 'Warning';
  const odd = known ? [] : [invalidValue('type', '', `has invalid value: ${String(type)}`)];
  return [...missing.map((field) => required(field)), ...odd];
}

const MAX_SERVICE_NAME = 63;

/** A service's name becomes a DNS label. */
export function validateService({ metadata: { name = '' } }: ApiObject): StatusCause[] {
  if (name.includes('.')) return [invalidValue('metadata.name', name, 'must not contain dots')];
  if (name.length <= MAX_SERVICE_NAME) return [];
  return [invalidValue('metadata.name', name, `must be no more than ${MAX_SERVICE_NAME} characters`)];
}
