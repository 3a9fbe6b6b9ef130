// Compiles the programs that the tests start, unless the cache outside the checkout has them. On a new machine this takes
// a quarter of an hour, which must not count against the time limit of a test suite.
import { createConsoleProgress, ensureBinaries, ensureDistribution, ensureS3Server } from '@sandlot/local-cluster';
import type { BinaryName } from '@sandlot/local-cluster';

/** Whether `npm test` starts the program. */
const PROGRAMS: Readonly<Record<BinaryName, boolean>> = {
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
  'kube-score': true,
  'network-policy': true,
  'agent-sandbox-client': true,
  // `npm run operations` alone needs these.
  etcdctl: false,
  etcdutl: false,
  'agent-sandbox-controller': false,
  containerd: true,
  'containerd-shim-runc-v2': true,
  runsc: true,
  'containerd-shim-runsc-v1': true,
  jaeger: true,
  'sandlot-runtime': true,
  'sandlot-node': true,
  'sandlot-node-installer': true,
  'sandlot-egress': true,
  'sandlot-image': true,
  loki: true,
  promtail: true,
  'sandlot-volumes': true,
};

const names = Object.keys(PROGRAMS) as BinaryName[];
await ensureBinaries(
  names.filter((name) => PROGRAMS[name]),
  { progress: createConsoleProgress() },
);

// Tests of the node component and of the image plane start them, from the cache of Go.
await ensureS3Server();
await ensureDistribution();
