import { join } from 'node:path';
import { openApiDocument, listReachable, names, snapshotSchema } from './definitions.ts';
import type { Definitions, Snapshot } from './definitions.ts';

/** The committed snapshot. */
export const snapshotFile: string = join(import.meta.dirname, 'openapi/kubernetes.json');

/** The documents of the API server that describe what a CRD embeds. */
export const documentPaths: readonly string[] = ['/openapi/v3/api/v1', '/openapi/v3/apis/networking.k8s.io/v1'];

/** The answers of an API server: its `gitVersion` and the documents of {@link documentPaths}. */
export interface ServerAnswers {
  readonly version: string;
  readonly documents: readonly unknown[];
}

/** Reduces OpenAPI documents to the schemas reachable from the embedded ones. */
export function takeSnapshot({ version, documents }: ServerAnswers): Snapshot {
  const parsed = documents.map((document) => openApiDocument.parse(document));
  const all: Definitions = Object.fromEntries(
    parsed.flatMap((document) => Object.entries(document.components.schemas)),
  );
  const kept = listReachable(all).filter((name) => name !== names.objectMeta);
  return { kubernetes: version, schemas: Object.fromEntries(kept.map((name) => [name, all[name] ?? {}])) };
}

/** Text of the committed file: members sorted, so that two snapshots of one Kubernetes version differ in nothing. */
export function formatSnapshot(snapshot: Snapshot): string {
  return `${JSON.stringify(sortMembers(snapshot), null, 2)}\n`;
}

/** The inverse of {@link formatSnapshot}; throws when the file is not a snapshot. */
export function parseSnapshot(text: string): Snapshot {
  return snapshotSchema.parse(JSON.parse(text));
}

function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sortMembers(member)]));
}
