import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { ApiClient } from '../api-client.ts';
import { LocalClusterError } from '../errors.ts';
import { waitFor } from '../process/wait.ts';

const collection = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Applies every CRD of the files and folders and waits until the API server serves them. */
export async function applyCrds(api: ApiClient, paths: readonly string[]): Promise<void> {
  const files = (await Promise.all(paths.map((path) => yamlFiles(path)))).flat();
  const documents = (await Promise.all(files.map((file) => readFile(file, 'utf8')))).flatMap(splitDocuments);
  const names = await Promise.all(documents.map((document) => applyCrd(api, document)));
  await waitFor(async () => (await Promise.all(names.map((name) => isEstablished(api, name)))).every(Boolean), {
    what: `${names.join(', ')} to be established`,
    timeoutMs: 30_000,
  });
}

async function yamlFiles(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path];
  const names = await readdir(path);
  return names
    .filter((name) => /\.ya?ml$/.test(name))
    .sort()
    .map((name) => join(path, name));
}

function splitDocuments(text: string): { name: string; body: string }[] {
  return parseAllDocuments(text)
    .filter((document) => document.contents !== null)
    .map((document) => ({
      name: String(document.getIn(['metadata', 'name'])),
      body: JSON.stringify(document.toJS()),
    }));
}

async function applyCrd(api: ApiClient, crd: { name: string; body: string }): Promise<string> {
  const answer = await api.call('PATCH', `${collection}/${crd.name}?fieldManager=local-cluster&force=true`, crd.body);
  if (answer.status !== 200 && answer.status !== 201) {
    throw new LocalClusterError('COMMAND_FAILED', `CRD ${crd.name}: status ${answer.status}: ${answer.body}`);
  }
  return crd.name;
}

async function isEstablished(api: ApiClient, name: string): Promise<boolean> {
  const { status, body } = await api.call('GET', `${collection}/${name}`);
  return (
    status === 200 &&
    /"type":\s*"Established",\s*"status":\s*"True"|"status":\s*"True",\s*"type":\s*"Established"/.test(body)
  );
}
