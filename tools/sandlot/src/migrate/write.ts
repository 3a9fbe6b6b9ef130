import { sandboxClaims, sandboxTemplates, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import { isAlreadyExists } from '@sandlot/kube';
import type { KubeClient, KubeObject, Resource } from '@sandlot/kube';
import { stringify } from 'yaml';
import type { Note, Translated } from './notes.ts';

const resources: Readonly<Record<string, Resource<KubeObject>>> = {
  SandboxTemplate: sandboxTemplates,
  SandboxWarmPool: sandboxWarmPools,
  Sandbox: sandboxes,
  SandboxClaim: sandboxClaims,
};

/** Creates the objects, and leaves alone those that exist. Returns a line for each. Rejects with a KubeError. */
export async function createObjects(client: KubeClient, translated: readonly Translated[]): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const object of translated.flatMap(({ objects }) => objects)) {
    const { kind, metadata } = object as { kind: string; metadata: { namespace: string; name: string } };
    const resource = resources[kind];
    if (resource === undefined) continue;
    const outcome = await client.create(resource, object as KubeObject).then(
      () => 'created',
      (error: unknown) => {
        if (isAlreadyExists(error)) return 'exists, and was left as it is';
        throw error;
      },
    );
    lines.push(`${kind} ${metadata.namespace}/${metadata.name}: ${outcome}`);
  }
  return lines;
}

/** The objects as YAML that kubectl applies. */
export function formatManifests(translated: readonly Translated[]): string {
  return translated
    .flatMap(({ objects }) => objects)
    .map((object) => `---\n${stringify(object)}`)
    .join('');
}

/** What became of each object, for people. */
export function formatReport(translated: readonly Translated[]): string {
  const parts = translated.map(({ from, objects, notes }) => {
    const targets = objects.map((object) => (object as { kind: string }).kind);
    const head = `${from} → ${targets.length === 0 ? 'nothing' : targets.join(', ')}`;
    return [head, ...notes.map(formatNote)].join('\n');
  });
  return [...parts, `${translated.length} objects: ${formatCounts(translated)}`].join('\n');
}

/** How many notes have each effect. */
export function formatCounts(noted: readonly { readonly notes: readonly Note[] }[]): string {
  const all = noted.flatMap(({ notes }) => notes);
  const counts = (['lost', 'changed', 'check'] as const).map(
    (effect) => `${all.filter((note) => note.effect === effect).length} ${effect}`,
  );
  return counts.join(', ');
}

/** One line, indented below its object. */
export function formatNote({ effect, field, text }: Note): string {
  return `  ${effect.padEnd(7)}  ${field}: ${text}`;
}
