import { annotations, labels } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import type { Pod, PodSpec } from '@sandlot/kube/objects';

/** The Sandbox with the image of the daemon that the saved Pod ran: its processes go on in files of exactly that image. */
export function withSavedDaemon(sandbox: Sandbox, { metadata }: SandboxSnapshot): Sandbox {
  const image = metadata.annotations?.[annotations.savedRuntimeImage];
  if (image === undefined || sandbox.spec.runtime?.inject !== true) return sandbox;
  return { ...sandbox, spec: { ...sandbox.spec, runtime: { ...sandbox.spec.runtime, image } } };
}

/**
 * `pod` as it has to be to continue from `hibernation`: marked for the shim of gVisor and the snapshot-controller, on the node
 * that has the data, and without init containers that have ended before the save: they are not in the memory, and gVisor
 * takes every container that starts for one to restore.
 */
export function withRestore(pod: Pod, { metadata: { uid = '' }, status }: SandboxSnapshot): Pod {
  const { metadata } = pod;
  return {
    ...pod,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [labels.restoreSnapshot]: uid },
      annotations: { ...metadata.annotations, [annotations.restoreSnapshot]: uid },
    },
    spec: withPlace(withSidecarsOnly(pod.spec), status),
  };
}

function withSidecarsOnly({ initContainers = [], ...spec }: PodSpec): PodSpec {
  const sidecars = initContainers.filter((container) => container['restartPolicy'] === 'Always');
  return sidecars.length === 0 ? { ...spec } : { ...spec, initContainers: sidecars };
}

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

interface Term {
  readonly matchExpressions?: readonly Requirement[];
  readonly matchFields?: readonly Requirement[];
}

interface Affinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly Term[] };
  };
}

/**
 * Terms are alternatives, so each of them gets the node. One without any requirement matches no node. The fingerprint of the
 * node is no requirement: after an upgrade of gVisor the Pod would wait for ever, while its node says that it cannot restore it.
 */
function withPlace(spec: PodSpec, status: SandboxSnapshot['status']): PodSpec {
  const affinity: Affinity = spec['affinity'] ?? {};
  const required = affinity.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const given = (required?.nodeSelectorTerms ?? []).filter((term) => !isEmpty(term));
  const onNode: Requirement = { key: 'metadata.name', operator: 'In', values: [status?.nodeName ?? ''] };
  const terms = (given.length === 0 ? [{}] : given).map((term: Term): Term => ({
    ...term,
    matchFields: [...(term.matchFields ?? []), onNode],
  }));
  const nodeAffinity = {
    ...affinity.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: { ...required, nodeSelectorTerms: terms },
  };
  return { ...spec, affinity: { ...affinity, nodeAffinity } };
}

function isEmpty({ matchExpressions = [], matchFields = [] }: Term): boolean {
  return matchExpressions.length + matchFields.length === 0;
}
