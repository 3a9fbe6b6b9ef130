import { translateClaim } from './claim.ts';
import { kruiseLeftovers, kruiseSchemas } from './kruise.ts';
import type { KruiseKind, KruiseTemplate } from './kruise.ts';
import type { Translated } from './notes.ts';
import { translateSandbox } from './sandbox.ts';
import { translateSet, translateTemplate } from './set.ts';

/** An object as it was read, of any kind. */
export interface Source {
  readonly kind: string;
  readonly object: object;
}

/** Translates objects of OpenKruise Agents, templates first. Reports those it cannot read. */
export function translateAll(sources: readonly Source[]): readonly Translated[] {
  const templates = new Map<string, KruiseTemplate>();
  for (const { object } of sources.filter(({ kind }) => kind === 'SandboxTemplate')) {
    const { data } = kruiseSchemas.SandboxTemplate.safeParse(object);
    if (data !== undefined) templates.set(`${data.metadata.namespace}/${data.metadata.name}`, data);
  }
  const order = ['SandboxTemplate', 'SandboxSet', 'Sandbox', 'SandboxClaim'];
  const sorted = sources.toSorted((a, b) => rank(order, a.kind) - rank(order, b.kind));
  return sorted.map((source) => translate(source, templates));
}

/** What is not translated comes last. */
function rank(order: readonly string[], kind: string): number {
  return order.includes(kind) ? order.indexOf(kind) : order.length;
}

type Templates = ReadonlyMap<string, KruiseTemplate>;

const translators: Readonly<Record<KruiseKind, (object: object, templates: Templates) => Translated>> = {
  SandboxTemplate: (object) => translateTemplate(kruiseSchemas.SandboxTemplate.parse(object)),
  SandboxSet: (object) => translateSet(kruiseSchemas.SandboxSet.parse(object)),
  Sandbox: (object, templates) => translateSandbox(kruiseSchemas.Sandbox.parse(object), templates),
  SandboxClaim: (object) => translateClaim(kruiseSchemas.SandboxClaim.parse(object)),
};

function translate({ kind, object }: Source, templates: Templates): Translated {
  const from = `${kind} ${readName(object)}`;
  if (!(kind in translators)) {
    const text =
      kind in kruiseLeftovers
        ? kruiseLeftovers[kind as keyof typeof kruiseLeftovers].advice
        : 'Sandlot has no such kind';
    return { from, objects: [], notes: [{ effect: 'lost', field: 'kind', text }] };
  }
  try {
    return translators[kind as KruiseKind](object, templates);
  } catch (error) {
    const text = `it is not valid, and was left out: ${error instanceof Error ? error.message : String(error)}`;
    return { from, objects: [], notes: [{ effect: 'lost', field: 'object', text }] };
  }
}

function readName(object: object): string {
  const { metadata = {} } = object as { metadata?: { name?: string; namespace?: string } };
  return `${metadata.namespace ?? 'default'}/${metadata.name ?? ''}`;
}
