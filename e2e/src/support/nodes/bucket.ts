import { readdir, readFile } from 'node:fs/promises';
import { startS3Server } from '@sandlot/local-cluster';
import type { S3Server } from '@sandlot/local-cluster';
import { inject } from 'vitest';
import { runKubectlOrFail } from '../kubectl.ts';
import { changeRelease } from './release.ts';
import { findCluster } from './second-node.ts';

const ACCOUNT = 'e2e-bucket-account';
/** The chart makes it, and never removes it. */
const KEYS = 'sandlot-bucket-keys';

/** A bucket in which the release keeps the snapshots of its default class. Its disposal takes it away from the release. */
export interface Bucket extends AsyncDisposable {
  /** The names of its objects. */
  listObjects(): Promise<string[]>;
  /** The id of the key that sealed the snapshot with this UID. */
  readKeyId(uid: string): Promise<string>;
}

/** Starts an S3 server, and upgrades the release so that the node components use it. No snapshot may be left at the disposal. */
export async function openBucket(): Promise<Bucket> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startS3Server({ address: new URL((await findCluster()).server).hostname }));
  stack.defer(() => removeSecrets());
  await createAccount(server);
  const { url: endpoint, bucket: name } = server;
  stack.use(await changeRelease({ hibernation: { bucket: { endpoint, name, credentialsSecret: ACCOUNT } } }));
  const all = stack.move();
  return {
    listObjects: () => listFiles(server.objects),
    readKeyId: (uid) => readKeyId(server.objects, uid),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** The manifest of a snapshot says it in clear. */
async function readKeyId(folder: string, uid: string): Promise<string> {
  const file = (await listFiles(folder)).find((each) => each.endsWith(`/${uid}/manifest`));
  if (file === undefined) throw new Error(`the bucket has no manifest of ${uid}`);
  return String((JSON.parse(await readFile(file, 'utf8')) as { readonly keyId?: unknown }).keyId);
}

async function createAccount({ accessKey, secretKey }: S3Server): Promise<void> {
  const literals = [`--from-literal=accessKey=${accessKey}`, `--from-literal=secretKey=${secretKey}`];
  await runKubectlOrFail([...inRelease(), 'create', 'secret', 'generic', ACCOUNT, ...literals]);
}

async function removeSecrets(): Promise<void> {
  await runKubectlOrFail([...inRelease(), 'delete', 'secret', ACCOUNT, KEYS, '--ignore-not-found']);
}

const inRelease = (): string[] => ['--namespace', inject('releaseNamespace')];

/** The server has one file for each object, and a folder for those that are not complete. */
async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => `${parentPath}/${name}`);
}
