import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureBinaries, getClusterPaths, listEtcdFlags } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';

const run = promisify(execFile);

/** The working folder of etcd and the API server, with etcd's data and its socket. */
const cwd = getClusterPaths(checkoutRoot).controlPlane;

/** What etcd and the tool that makes its data folder must agree about. */
const MEMBER = listEtcdFlags().filter((flag) =>
  /^--(name|data-dir|initial-cluster|initial-advertise-peer-urls)=/.test(flag),
);

/**
 * Informers know versions that are newer than the snapshot, and would take what follows it for old news. So the restored etcd
 * begins with a version that none of them has seen, and refuses to continue from any before.
 */
const NEWER_THAN_ANY = ['--bump-revision', '1000000000', '--mark-compacted'];

/** Saves a snapshot of everything that the API server stores. */
export async function saveSnapshot(file: string): Promise<void> {
  const bin = await ensureBinaries(['etcdctl']);
  await run(bin('etcdctl'), ['--endpoints=unix://client:1', 'snapshot', 'save', file], { cwd });
}

/** Removes the data of etcd, which must not run. */
export async function loseEtcd(): Promise<void> {
  await rm(join(cwd, 'etcd'), { recursive: true });
}

/** Makes the data of etcd anew from a snapshot. */
export async function restoreSnapshot(file: string): Promise<void> {
  const bin = await ensureBinaries(['etcdutl']);
  await run(bin('etcdutl'), ['snapshot', 'restore', file, ...MEMBER, ...NEWER_THAN_ANY], { cwd });
}
