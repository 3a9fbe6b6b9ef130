import type { ObjectMeta } from '@sandlot/kube';
import type { StatusCause } from '../server/api-error.ts';
import { forbiddenValue, invalidValue, requiredValue } from './builtin-rules.ts';

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const LABEL_KEY = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
  "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const KEY_RULE =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/** Validates the metadata of a new object. */
export function validateNewMeta(meta: ObjectMeta): StatusCause[] {
  return [...validateName(meta.name ?? ''), ...validateMaps(meta), ...validateOwners(meta)];
}

const FIXED = ['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const;

/** Validates a change of metadata. */
export function validateMetaUpdate(meta: ObjectMeta, old: ObjectMeta): StatusCause[] {
  return [
    ...FIXED.filter((field) => meta[field] !== old[field]).map((field) =>
      invalidValue(`metadata.${field}`, meta[field], 'field is immutable'),
    ),
    ...validateFinalizers(meta, old),
    ...validateMaps(meta),
    ...validateOwners(meta),
  ];
}

function validateName(name: string): StatusCause[] {
  if (name === '') return [requiredValue('metadata.name', 'name or generateName is required')];
  if (name.length > 253) return [invalidValue('metadata.name', name, 'must be no more than 253 characters')];
  return SUBDOMAIN.test(name) ? [] : [invalidValue('metadata.name', name, SUBDOMAIN_RULE)];
}

/** After deletion has begun, finalizers can only be removed. */
function validateFinalizers(meta: ObjectMeta, old: ObjectMeta): StatusCause[] {
  if (old.deletionTimestamp === undefined) return [];
  const added = (meta.finalizers ?? []).filter((finalizer) => !(old.finalizers ?? []).includes(finalizer));
  if (added.length === 0) return [];
  const list = added.map((finalizer) => `"${finalizer}"`).join(', ');
  const rule = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
  return [forbiddenValue('metadata.finalizers', rule)];
}

function validateMaps({ labels = {}, annotations = {} }: ObjectMeta): StatusCause[] {
  return [...Object.entries(labels).flatMap(labelCauses), ...Object.keys(annotations).flatMap(listAnnotationCauses)];
}

function labelCauses([key, value]: [string, unknown]): StatusCause[] {
  const causes: StatusCause[] = [];
  if (!LABEL_KEY.test(key)) causes.push(invalidValue('metadata.labels', key, KEY_RULE));
  if (typeof value !== 'string') {
    return [
      ...causes,
      invalidValue(
        'metadata.labels',
        value,
        `json: cannot unmarshal ${typeof value} into Go struct field ObjectMeta.labels of type string`,
      ),
    ];
  }
  if (value.length > 63) {
    causes.push(invalidValue('metadata.labels', value, 'must be no more than 63 bytes'));
  }
  if (!LABEL_VALUE.test(value)) causes.push(invalidValue('metadata.labels', value, LABEL_RULE));
  return causes;
}

function listAnnotationCauses(key: string): StatusCause[] {
  return LABEL_KEY.test(key.toLowerCase()) ? [] : [invalidValue('metadata.annotations', key, KEY_RULE)];
}

function validateOwners({ ownerReferences = [] }: ObjectMeta): StatusCause[] {
  const incomplete = ownerReferences.flatMap((owner) =>
    (['apiVersion', 'kind', 'name', 'uid'] as const)
      .filter((member) => !owner[member])
      .map((member) =>
        invalidValue(
          `metadata.ownerReferences.${member}`,
          '',
          member === 'apiVersion' ? 'version must not be empty' : 'must not be empty',
        ),
      ),
  );
  const [first, second] = ownerReferences.filter((owner) => owner.controller === true);
  if (first === undefined || second === undefined) return incomplete;
  const rule =
    'Only one reference can have Controller set to true. Found "true" in references for ' +
    `${first.kind}/${first.name} and ${second.kind}/${second.name}`;
  return [...incomplete, invalidValue('metadata.ownerReferences', ownerReferences, rule)];
}
