import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isSeq, parseAllDocuments } from 'yaml';
import type { ApiClient } from '../api-client.ts';
import { LocalClusterError } from '../errors.ts';
import { waitFor } from '../process/wait.ts';

const collection = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface Crd {
  name: string;
  body: string;
  /** Path of the list of each served version. It returns 200 as soon as the API server serves the CRD. */
  lists: string[];
}

/** Applies every CRD in the files and folders, and waits until the API server serves them. */
export async function applyCrds(api: ApiClient, paths: readonly string[]): Promise<void> {
  const files = (await Promise.all(paths.map((path) => listYamlFiles(path)))).flat();
  const crds = (await Promise.all(files.map((file) => readFile(file, 'utf8')))).flatMap(parseCrds);
  await Promise.all(crds.map((crd) => applyCrd(api, crd)));
  const lists = crds.flatMap((crd) => crd.lists);
  await waitFor(async () => (await Promise.all(lists.map((path) => isServed(api, path)))).every(Boolean), {
    what: `the API server to serve ${crds.map((crd) => crd.name).join(', ')}`,
    timeoutMs: 30_000,
  });
}

async function listYamlFiles(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path];
  const names = await readdir(path);
  return names
    .filter((name) => /\.ya?ml$/.test(name))
    .sort()
    .map((name) => join(path, name));
}

function parseCrds(text: string): Crd[] {
  return parseAllDocuments(text)
    .filter((document) => document.contents !== null)
    .map((document) => {
      const versions = document.getIn(['spec', 'versions']);
      const count = isSeq(versions) ? versions.items.length : 0;
      const version = (index: number, field: string) => document.getIn(['spec', 'versions', index, field]);
      const served = Array.from({ length: count }, (_, index) => index).filter((index) => version(index, 'served'));
      const group = String(document.getIn(['spec', 'group']));
      const plural = String(document.getIn(['spec', 'names', 'plural']));
      return {
        name: String(document.getIn(['metadata', 'name'])),
        body: JSON.stringify(document.toJS()),
        lists: served.map((index) => `/apis/${group}/${String(version(index, 'name'))}/${plural}?limit=1`),
      };
    });
}

async function applyCrd(api: ApiClient, crd: Crd): Promise<void> {
  const answer = await api.call('PATCH', `${collection}/${crd.name}?fieldManager=local-cluster&force=true`, crd.body);
  if (answer.status !== 200 && answer.status !== 201) {
    throw new LocalClusterError('COMMAND_FAILED', `CRD ${crd.name}: status ${answer.status}: ${answer.body}`);
  }
}

async function isServed(api: ApiClient, path: string): Promise<boolean> {
  return (await api.call('GET', path)).status === 200;
}
