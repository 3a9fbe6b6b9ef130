// Compiles the programs that the tests start, unless the cache outside the checkout has them. On a new machine this takes
// a quarter of an hour, which must not count against the time limit of a test suite.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createConsoleProgress, ensureBinaries } from '@sandlot/local-cluster';
import type { BinaryName } from '@sandlot/local-cluster';
import { raceOptions } from './race-options.ts';

const PROGRAMS: Readonly<Record<BinaryName, true>> = {
  kube: true,
  pki: true,
  guard: true,
  pause: true,
  registry: true,
  coredns: true,
  helm: true,
  kwok: true,
  'kwok-stages': true,
  volumes: true,
  'nats-server': true,
  crane: true,
  kubeconform: true,
  'network-policy': true,
  containerd: true,
  'containerd-shim-runc-v2': true,
  runsc: true,
  'containerd-shim-runsc-v1': true,
  jaeger: true,
  'sandlot-runtime': true,
  'sandlot-node': true,
};

await ensureBinaries(Object.keys(PROGRAMS) as BinaryName[], { progress: createConsoleProgress() });

// The S3 server, which tests of the node component start by the same command. Go keeps it in its own cache.
const env = { ...process.env, GOTOOLCHAIN: 'local', ...raceOptions().env };
await promisify(execFile)('go', ['tool', '-n', 'versitygw'], {
  cwd: join(import.meta.dirname, '../../../node/s3server'),
  env,
});
