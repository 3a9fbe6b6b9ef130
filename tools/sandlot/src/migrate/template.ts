import type { KruiseSandbox, KruiseSet, KruiseTemplate } from './kruise.ts';
import { compact, keepOwn } from './notes.ts';
import type { Note } from './notes.ts';

type TemplateSpec = KruiseTemplate['spec'] & Partial<Pick<KruiseSet['spec'], 'pauseStrategy' | 'runtimes'>>;

/** What a template, a set and a single Sandbox have in common, and the notes about it. */
export interface Blueprint {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly notes: readonly Note[];
}

/** Fields of a spec that `translateBlueprint` reads. */
export const BLUEPRINT_FIELDS = ['template', 'volumeClaimTemplates', 'persistentContents', 'pauseStrategy', 'runtimes'];

/** The runtime whose place the daemon takes. */
const AGENT_RUNTIME = 'agent-runtime';

/** Translates Pod, disks, pausing and daemon. */
export function translateBlueprint(spec: TemplateSpec): Blueprint {
  const pausing = translatePausing(spec);
  const runtime = translateRuntimes(spec);
  return {
    spec: compact({
      podTemplate: translatePod(spec.template),
      volumeClaimTemplates: translateDisks(spec.volumeClaimTemplates),
      ...pausing.spec,
      ...runtime.spec,
    }),
    notes: [...notePod(spec), ...pausing.notes, ...runtime.notes],
  };
}

function translatePod(template: TemplateSpec['template']): object {
  const { labels, annotations } = template?.metadata ?? {};
  const metadata = compact({ labels: keepOwn(labels), annotations: keepOwn(annotations) });
  return { ...(Object.keys(metadata).length === 0 ? {} : { metadata }), spec: template?.spec ?? { containers: [] } };
}

function translateDisks(disks: TemplateSpec['volumeClaimTemplates']): readonly object[] | undefined {
  if (disks === undefined || disks.length === 0) return undefined;
  return disks.map(({ metadata = {}, spec }) => {
    const { name, labels, annotations } = metadata;
    return { metadata: compact({ name, labels: keepOwn(labels), annotations: keepOwn(annotations) }), spec };
  });
}

function notePod({ template }: TemplateSpec): readonly Note[] {
  if (template !== undefined) return [];
  return [{ effect: 'lost', field: 'spec.template', text: 'it has none: write spec.podTemplate by hand' }];
}

function translatePausing({ pauseStrategy, persistentContents = [] }: TemplateSpec): Blueprint {
  const address: readonly Note[] = persistentContents.includes('ip')
    ? [
        {
          effect: 'lost',
          field: 'spec.persistentContents',
          text: 'a Pod that resumes gets another address: use the name of the Sandbox',
        },
      ]
    : [];
  if (!hibernates({ pauseStrategy, persistentContents })) return { spec: {}, notes: address };
  const keepsFilesOnly = persistentContents.includes('filesystem') && !persistentContents.includes('memory');
  const hibernate = keepsFilesOnly ? { hibernate: { contents: 'Files' } } : {};
  const text =
    'became suspensionStrategy Hibernate, which needs hibernation.enabled in the chart, and gVisor as the runtimeClassName of the Pod';
  const field = pauseStrategy === undefined ? 'spec.persistentContents' : 'spec.pauseStrategy';
  return {
    spec: { suspensionStrategy: { type: 'Hibernate', ...hibernate } },
    notes: [...address, { effect: 'check', field, text }],
  };
}

/** Without a strategy, what is to persist decides. */
function hibernates({ pauseStrategy, persistentContents = [] }: TemplateSpec): boolean {
  if (pauseStrategy?.type !== undefined) return pauseStrategy.type === 'Hibernate';
  return persistentContents.includes('memory') || persistentContents.includes('filesystem');
}

function translateRuntimes({ runtimes = [], template }: TemplateSpec): Blueprint {
  const names = runtimes.map(({ name }) => name);
  const others = names.filter((name) => name !== AGENT_RUNTIME && name !== 'csi');
  const notes: Note[] = others.map((name) => ({
    effect: 'lost',
    field: 'spec.runtimes',
    text: `there is no runtime "${name}"`,
  }));
  const isCopied = JSON.stringify(template?.spec['initContainers'] ?? []).includes(AGENT_RUNTIME);
  if (isCopied) {
    notes.push({
      effect: 'check',
      field: 'spec.template',
      text: `remove the init container of ${AGENT_RUNTIME}: runtime.inject adds the daemon`,
    });
  }
  return { spec: names.includes(AGENT_RUNTIME) || isCopied ? { runtime: { inject: true } } : {}, notes };
}

/** What only templates have: claims of OpenKruise may set variables and mount volumes unasked. */
export function allowClaims(spec: TemplateSpec): object {
  const names = (spec.runtimes ?? []).map(({ name }) => name);
  return {
    ...(names.includes(AGENT_RUNTIME) ? { envVarsInjectionPolicy: 'Overrides' } : {}),
    ...(names.includes('csi') ? { dynamicVolumesPolicy: 'Allowed' } : {}),
  };
}

/** The template that a set or a Sandbox names, if it is one of ours to translate. */
export function findTemplateName({ spec }: KruiseSet | KruiseSandbox): string | undefined {
  return spec.templateRef?.kind === 'SandboxTemplate' ? spec.templateRef.name : undefined;
}

/** Reports a Pod that stands in a PodTemplate, which is not read. */
export function noteTemplateRef({ spec: { templateRef } }: KruiseSet | KruiseSandbox): readonly Note[] {
  if (templateRef === undefined || templateRef.kind === 'SandboxTemplate') return [];
  const text = `the Pod of the PodTemplate ${templateRef.name} is not read: copy it into spec.podTemplate`;
  return [{ effect: 'lost', field: 'spec.templateRef', text }];
}
