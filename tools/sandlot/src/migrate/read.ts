import { readFile } from 'node:fs/promises';
import { isNotFound } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { parseAllDocuments } from 'yaml';
import { CliError } from '../errors.ts';
import { KRUISE_GROUP, kruiseKinds, kruiseLeftovers } from './kruise.ts';
import type { Source } from './translate.ts';

const resources = [
  ...Object.entries(kruiseKinds),
  ...Object.entries(kruiseLeftovers).map(([kind, { resource }]) => [kind, resource] as const),
];

/** Reads the objects of a cluster; a kind that it does not have counts as empty. Rejects with a KubeError. */
export async function readCluster(client: KubeClient, namespace: string | undefined): Promise<readonly Source[]> {
  const found = await Promise.all(
    resources.map(async ([kind, resource]) => {
      const { items } = await client
        .listAll(resource, namespace === undefined ? {} : { namespace })
        .catch((error: unknown) => {
          if (isNotFound(error)) return { items: [] };
          throw error;
        });
      return items.map((object): Source => ({ kind, object }));
    }),
  );
  return found.flat();
}

/** Reads the objects of OpenKruise Agents in a file of YAML or JSON, lists included. Throws a CliError. */
export async function readManifest(path: string): Promise<readonly Source[]> {
  const text = await readFile(path, 'utf8').catch(() => {
    throw new CliError(`there is no file ${path}`, 'Name files with manifests: --file FILE');
  });
  const documents = parseAllDocuments(text).map((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw new CliError(`${path}: ${problem.message}`, 'The file must be YAML or JSON.');
    return document.toJS() as unknown;
  });
  return documents.flatMap(listObjects).filter(isOfKruise);
}

interface Listed {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly items?: readonly unknown[];
}

function listObjects(value: unknown): readonly Source[] {
  if (typeof value !== 'object' || value === null) return [];
  const { kind = '', items } = value as Listed;
  return Array.isArray(items) ? items.flatMap(listObjects) : [{ kind, object: value }];
}

function isOfKruise({ object }: Source): boolean {
  return (object as Listed).apiVersion?.startsWith(`${KRUISE_GROUP}/`) === true;
}
