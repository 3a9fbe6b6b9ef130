import type { KruiseSet, KruiseTemplate } from './kruise.ts';
import { formatFrom, keepMetadata, noteUnread } from './notes.ts';
import type { Note, Translated } from './notes.ts';
import { allowClaims, BLUEPRINT_FIELDS, findTemplateName, noteTemplateRef, translateBlueprint } from './template.ts';

const EXTENSIONS = 'extensions.agents.x-k8s.io/v1beta1';

/** A template stays a template. */
export function translateTemplate(template: KruiseTemplate): Translated {
  const { spec, notes } = translateBlueprint(template.spec);
  return {
    from: formatFrom('SandboxTemplate', template),
    objects: [{ apiVersion: EXTENSIONS, kind: 'SandboxTemplate', metadata: keepMetadata(template.metadata), spec }],
    notes: [...notes, ...noteUnread(template.spec, BLUEPRINT_FIELDS)],
  };
}

const SET_FIELDS = [...BLUEPRINT_FIELDS, 'templateRef', 'replicas', 'scaleStrategy', 'updateStrategy'];

/** A set becomes a pool, and a template of the same name unless it names one. */
export function translateSet(set: KruiseSet): Translated {
  const named = findTemplateName(set);
  const { spec, notes } = translateBlueprint(set.spec);
  const metadata = keepMetadata(set.metadata);
  const template = {
    apiVersion: EXTENSIONS,
    kind: 'SandboxTemplate',
    metadata,
    spec: { ...spec, ...allowClaims(set.spec) },
  };
  const pool = {
    apiVersion: EXTENSIONS,
    kind: 'SandboxWarmPool',
    metadata,
    spec: {
      replicas: set.spec.replicas,
      sandboxTemplateRef: { name: named ?? set.metadata.name },
      ...translatePace(set.spec),
    },
  };
  return {
    from: formatFrom('SandboxSet', set),
    objects: named === undefined ? [template, pool] : [pool],
    notes: [
      ...noteTemplateRef(set),
      ...(named === undefined
        ? notes.filter(({ field }) => set.spec.templateRef === undefined || field !== 'spec.template')
        : []),
      ...notePace(set.spec),
      ...noteUnread(set.spec, SET_FIELDS),
    ],
  };
}

function translatePace({ replicas, scaleStrategy, updateStrategy }: KruiseSet['spec']): object {
  const starting = countOf(scaleStrategy?.maxUnavailable, replicas);
  const missing = updateStrategy?.maxUnavailable;
  return {
    ...(starting === undefined ? {} : { refill: { maxInFlight: starting } }),
    ...(missing === undefined
      ? {}
      : { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: missing } } }),
  };
}

/** A percentage as a number of members, rounded up; at least one. */
function countOf(amount: number | string | undefined, replicas: number): number | undefined {
  if (amount === undefined) return undefined;
  const share =
    typeof amount === 'string' && amount.endsWith('%') ? (Number.parseFloat(amount) / 100) * replicas : Number(amount);
  return Math.max(1, Math.ceil(share));
}

function notePace({ replicas, scaleStrategy }: KruiseSet['spec']): readonly Note[] {
  const amount = scaleStrategy?.maxUnavailable;
  if (typeof amount !== 'string') return [];
  const text = `${amount} of ${replicas} became refill.maxInFlight ${countOf(amount, replicas)}, which does not follow replicas`;
  return [{ effect: 'changed', field: 'spec.scaleStrategy.maxUnavailable', text }];
}
