import type { KruiseSandbox, KruiseTemplate } from './kruise.ts';
import { compact, formatFrom, keepMetadata, noteUnread } from './notes.ts';
import type { Note, Translated } from './notes.ts';
import { BLUEPRINT_FIELDS, findTemplateName, noteTemplateRef, translateBlueprint } from './template.ts';

const CORE = 'agents.x-k8s.io/v1beta1';

const SANDBOX_FIELDS = [...BLUEPRINT_FIELDS, 'templateRef', 'paused', 'shutdownTime', 'pauseTime'];
const CLAIMED = 'agents.kruise.io/sandbox-claimed';

/** A Sandbox of its own, or one that somebody claimed. Members of a set are left to the new pool. */
export function translateSandbox(sandbox: KruiseSandbox, templates: ReadonlyMap<string, KruiseTemplate>): Translated {
  const from = formatFrom('Sandbox', sandbox);
  const { metadata, spec } = sandbox;
  const isMember = metadata.ownerReferences?.some(({ kind }) => kind === 'SandboxSet') === true;
  if (isMember && metadata.labels?.[CLAIMED] !== 'true') {
    return {
      from,
      objects: [],
      notes: [{ effect: 'changed', field: 'metadata', text: 'left out: the new pool makes members of its own' }],
    };
  }
  const template = templates.get(`${metadata.namespace}/${findTemplateName(sandbox) ?? ''}`);
  const blueprint = translateBlueprint(template === undefined ? spec : { ...template.spec, ...definedOf(spec) });
  const object = {
    apiVersion: CORE,
    kind: 'Sandbox',
    metadata: keepMetadata(metadata),
    spec: compact({
      ...blueprint.spec,
      operatingMode: spec.paused === true ? 'Suspended' : 'Running',
      ...(spec.shutdownTime === undefined ? {} : { shutdownTime: spec.shutdownTime, shutdownPolicy: 'Delete' }),
    }),
  };
  const refs = template === undefined ? noteTemplateRef(sandbox) : [];
  return {
    from,
    objects: [object],
    notes: [...refs, ...blueprint.notes, ...noteSandbox(sandbox), ...noteUnread(spec, SANDBOX_FIELDS)],
  };
}

function definedOf({ template, volumeClaimTemplates, ...spec }: KruiseSandbox['spec']): object {
  return compact({ ...spec, template, volumeClaimTemplates });
}

function noteSandbox({ metadata, spec }: KruiseSandbox): readonly Note[] {
  const notes: Note[] = [
    {
      effect: 'lost',
      field: 'metadata',
      text: 'it gets a new Pod: what runs now, and files outside volumes, stay behind',
    },
  ];
  for (const disk of spec.volumeClaimTemplates ?? []) {
    const claim = `${disk.metadata?.name ?? ''}-${metadata.name}`;
    const text = `it gets a new disk, unless a PersistentVolumeClaim ${claim} with the label agents.x-k8s.io/adoptable=true is there first`;
    notes.push({ effect: 'check', field: 'spec.volumeClaimTemplates', text });
  }
  if (spec.pauseTime !== undefined) {
    notes.push({
      effect: 'lost',
      field: 'spec.pauseTime',
      text: 'no time of a pause: set spec.idle.suspendAfterSeconds',
    });
  }
  return notes;
}
