import type { BinaryName } from '../binaries/catalog.ts';
import { ensureBinaries } from '../binaries/ensure.ts';
import { ensureComponent } from '../cluster/component.ts';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { formatComponentKubeconfig, formatServerUrl } from '../cluster/control-plane.ts';
import { writeKubeconfig } from '../kubeconfig.ts';
import { buildContainerdComponent } from '../node/containerd.ts';
import { buildKubeletComponent } from '../node/kubelet.ts';
import { bridgeName, getNodeAddress } from '../node/network.ts';
import { waitForNode, waitForPodsOf } from '../node/objects.ts';
import type { NodePlace } from '../node/place.ts';
import { issueCertificates } from '../pki.ts';
import { execOrThrow } from '../process/exec.ts';
import { ensureNamespace } from './namespace.ts';
import { getAddedPlace } from './place.ts';
import { ensureAddedRecord } from './record.ts';

const binaries: readonly BinaryName[] = [
  'kube',
  'pki',
  'pause',
  'containerd',
  'containerd-shim-runc-v2',
  'runsc',
  'containerd-shim-runsc-v1',
];

/**
 * Ensures that the node runs, and waits until it is Ready. It shares the bridge, the policies, the registry and the folders of
 * volumes with the first node, and nothing else. A node that was killed starts again with its disk.
 */
export async function startAddedNode(from: ClusterContext, name: string): Promise<NodePlace> {
  const context = { ...from, bin: await ensureBinaries(binaries) };
  const { paths } = context;
  const place = getAddedPlace(context, await ensureAddedRecord(paths, name));
  await issueIdentity(context, place);
  await execOrThrow(['ip', 'address', 'replace', `${place.address}/32`, 'dev', bridgeName]);
  const inside = { ...place, enter: await ensureNamespace(context, place) };
  await ensureComponent(paths, await buildContainerdComponent(context, inside));
  await ensureComponent(paths, await buildKubeletComponent(context, inside));
  await waitForNode(context, name);
  await waitForPodsOf(context, name);
  return place;
}

async function issueIdentity(context: ClusterContext, { name, suffix, address }: NodePlace): Promise<void> {
  const { paths, choices, bin } = context;
  const certificate = `kubelet${suffix}`;
  const kubelet = {
    name: certificate,
    commonName: `system:node:${name}`,
    organizations: ['system:nodes'],
    ips: [address],
  };
  await issueCertificates(bin('pki'), { dir: paths.pki, certificates: [kubelet] });
  await writeKubeconfig({
    path: formatComponentKubeconfig(paths, certificate),
    server: formatServerUrl(context, getNodeAddress(choices.podNetwork)),
    pkiDir: paths.pki,
    certificate,
  });
}
