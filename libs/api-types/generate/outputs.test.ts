import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { buildCustomResourceDefinition, isUpstream, MAX_CRD_BYTES } from './crd.ts';
import { kinds } from './kinds.ts';
import { listOutputs } from './outputs.ts';
import { parseSnapshot, snapshotFile } from './snapshot.ts';

const root = join(import.meta.dirname, '../../..');
const snapshot = parseSnapshot(await readFile(snapshotFile, 'utf8'));
const crds = kinds.map((kind) => ({
  kind: kind.kind,
  versions: isUpstream(kind) ? ['v1beta1', 'v1alpha1'] : ['v1alpha1'],
  crd: buildCustomResourceDefinition(kind, snapshot.schemas),
}));

/** A schema of a CRD: exactly the keywords the generator may use, so that any other one fails the parse. */
interface Schema {
  properties?: Record<string, Schema> | undefined;
  items?: Schema | undefined;
  additionalProperties?: Schema | undefined;
  type?: string | undefined;
  default?: unknown;
  'x-kubernetes-int-or-string'?: boolean | undefined;
}

const rule = z.strictObject({ rule: z.string(), message: z.string() });
const schema: z.ZodType<Schema> = z.lazy(() =>
  z.strictObject({
    type: z.enum(['object', 'array', 'string', 'integer', 'number', 'boolean']).optional(),
    format: z.enum(['int32', 'int64', 'date-time', 'double']).optional(),
    pattern: z.string().optional(),
    enum: z.array(z.string()).optional(),
    default: z.unknown().optional(),
    required: z.array(z.string()).optional(),
    properties: z.record(z.string(), schema).optional(),
    items: schema.optional(),
    additionalProperties: schema.optional(),
    ...Object.fromEntries(
      ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'maxProperties'].map((limit) => [
        limit,
        z.int().optional(),
      ]),
    ),
    'x-kubernetes-validations': z.array(rule).optional(),
    'x-kubernetes-int-or-string': z.literal(true).optional(),
    'x-kubernetes-list-type': z.enum(['atomic', 'set', 'map']).optional(),
    'x-kubernetes-list-map-keys': z.array(z.string()).optional(),
    'x-kubernetes-map-type': z.literal('atomic').optional(),
  }),
);

const version = z.object({
  name: z.string(),
  schema: z.object({ openAPIV3Schema: schema }),
  additionalPrinterColumns: z.unknown(),
});
const definition = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({ versions: z.tuple([version], version) }),
});

/** Every schema under one, with the dotted path of field names that leads to it. */
function* nodes(node: Schema, path: readonly string[] = []): Generator<{ path: string; node: Schema }> {
  yield { path: path.join('.'), node };
  for (const [name, property] of Object.entries(node.properties ?? {})) yield* nodes(property, [...path, name]);
  if (node.items !== undefined) yield* nodes(node.items, path);
  if (node.additionalProperties !== undefined) yield* nodes(node.additionalProperties, [...path, '*']);
}

describe('the committed files', () => {
  it.each(listOutputs(snapshot).map(({ path, text }) => [path, text]))(
    '%s: is what the generator writes',
    async (path, text) => {
      expect(await readFile(join(root, path), 'utf8')).toBe(text);
    },
  );

  it('contain each CRD unchanged by YAML', () => {
    const files = listOutputs(snapshot).filter(({ path }) => path.endsWith('.yaml'));
    expect(files.map(({ text }): unknown => parse(text))).toEqual(crds.map(({ crd }) => crd));
  });
});

describe.each(crds)('the CRD of $kind', ({ crd, versions }) => {
  const [stored, ...others] = definition.parse(crd).spec.versions;
  const all = [...nodes(stored.schema.openAPIV3Schema)];

  it('fits the annotation of a client-side apply', () => {
    expect(Buffer.byteLength(JSON.stringify(crd))).toBeLessThan(MAX_CRD_BYTES);
  });

  it('has one schema and one set of columns for all versions', () => {
    expect([stored, ...others].map(({ name }) => name)).toEqual(versions);
    for (const other of others) {
      expect(other.schema).toEqual(stored.schema);
      expect(other.additionalPrinterColumns).toEqual(stored.additionalPrinterColumns);
    }
  });

  it('has a description of every field', () => {
    const untyped = all.filter(({ node }) => node.type === undefined && node['x-kubernetes-int-or-string'] !== true);
    expect(untyped.map(({ path }) => path)).toEqual([]);
  });

  it('gives embedded Kubernetes objects a default only on list-map keys', () => {
    const embedded = all.filter(({ path }) => /^spec\.(podTemplate|volumeClaimTemplates|networkPolicy)\./.test(path));
    const defaulted = embedded
      .filter(({ node }) => 'default' in node)
      .map(({ path }) => path.split('.').slice(-2).join('.'));
    expect(defaulted.filter((path) => path !== 'ports.protocol' && path !== 'imagePullSecrets.name')).toEqual([]);
  });
});
