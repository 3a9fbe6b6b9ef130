import { annotations, isUploaded, labels, ONLY_FILES } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import type { Pod, PodSpec } from '@sandlot/kube/objects';

/** The Sandbox with the image of the daemon that the saved Pod ran: its processes go on in files of exactly that image. */
export function withSavedDaemon(sandbox: Sandbox, { metadata }: SandboxSnapshot): Sandbox {
  const image = metadata.annotations?.[annotations.savedRuntimeImage];
  if (image === undefined || sandbox.spec.runtime?.inject !== true) return sandbox;
  return { ...sandbox, spec: { ...sandbox.spec, runtime: { ...sandbox.spec.runtime, image } } };
}

/**
 * `pod` as it has to be to continue from `hibernation`: marked for the shim of gVisor and the snapshot-controller, on a node
 * that can have the data, and without init containers that have ended before the save: they are not in the memory, and gVisor
 * takes every container that starts for one to restore.
 */
export function withRestore(pod: Pod, hibernation: SandboxSnapshot): Pod {
  const { metadata } = pod;
  const { uid = '' } = hibernation.metadata;
  return {
    ...pod,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [labels.restoreSnapshot]: uid },
      annotations: { ...metadata.annotations, [annotations.restoreSnapshot]: uid },
    },
    spec: withPlace(withSidecarsOnly(pod.spec), hibernation),
  };
}

/** `pod` as it has to be to boot with the files of `hibernation`, on a node that can have them. */
export function withFiles(pod: Pod, hibernation: SandboxSnapshot): Pod {
  const { metadata } = pod;
  const { uid = '' } = hibernation.metadata;
  const asked = { [annotations.restoreSnapshot]: uid, [annotations.restoreOnly]: ONLY_FILES };
  return {
    ...pod,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [labels.restoreSnapshot]: uid },
      annotations: { ...metadata.annotations, ...asked },
    },
    spec: withPlaceOfFiles(pod.spec, hibernation),
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

interface Preference {
  readonly weight: number;
  readonly preference: Term;
}

interface Affinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly Term[] };
    readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly Preference[];
  };
}

/** More than any other preference of a Pod: the node that has the data needs no download. */
const MOST_WEIGHT = 100;

/**
 * Only the node that has the data will do while the bucket does not have it. The fingerprint is no requirement then: after an
 * upgrade of gVisor the Pod would wait for ever, while its node says that it cannot restore it. With the bucket any node with the
 * fingerprint will do, and the snapshot-controller gives the memory up when there is none.
 */
function withPlace(spec: PodSpec, hibernation: SandboxSnapshot): PodSpec {
  const { nodeName, fingerprint = '' } = hibernation.status ?? {};
  const onNode: Requirement = { key: 'metadata.name', operator: 'In', values: [nodeName ?? ''] };
  if (!isUploaded(hibernation)) return withRequired(spec, { matchFields: [onNode] });
  const likeNode: Requirement = { key: labels.snapshotFingerprint, operator: 'In', values: [fingerprint] };
  const anywhere = withRequired(spec, { matchExpressions: [likeNode] });
  return nodeName === undefined ? anywhere : withPreferred(anywhere, { matchFields: [onNode] });
}

/** Files suit every node that can have them. */
function withPlaceOfFiles(spec: PodSpec, hibernation: SandboxSnapshot): PodSpec {
  if (!isUploaded(hibernation)) return withPlace(spec, hibernation);
  const { nodeName } = hibernation.status ?? {};
  const onNode: Requirement = { key: 'metadata.name', operator: 'In', values: [nodeName ?? ''] };
  return nodeName === undefined ? spec : withPreferred(spec, { matchFields: [onNode] });
}

/** Terms are alternatives, so each of them gets the requirements. One without any requirement matches no node. */
function withRequired(spec: PodSpec, { matchExpressions = [], matchFields = [] }: Term): PodSpec {
  const affinity: Affinity = spec['affinity'] ?? {};
  const required = affinity.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const given = (required?.nodeSelectorTerms ?? []).filter((term) => !isEmpty(term));
  const terms = (given.length === 0 ? [{}] : given).map((term: Term): Term => ({
    ...term,
    ...(matchExpressions.length === 0
      ? {}
      : { matchExpressions: [...(term.matchExpressions ?? []), ...matchExpressions] }),
    ...(matchFields.length === 0 ? {} : { matchFields: [...(term.matchFields ?? []), ...matchFields] }),
  }));
  const nodeAffinity = {
    ...affinity.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: { ...required, nodeSelectorTerms: terms },
  };
  return { ...spec, affinity: { ...affinity, nodeAffinity } };
}

function withPreferred(spec: PodSpec, preference: Term): PodSpec {
  const affinity: Affinity = spec['affinity'] ?? {};
  const given = affinity.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const nodeAffinity = {
    ...affinity.nodeAffinity,
    preferredDuringSchedulingIgnoredDuringExecution: [...given, { weight: MOST_WEIGHT, preference }],
  };
  return { ...spec, affinity: { ...affinity, nodeAffinity } };
}

function isEmpty({ matchExpressions = [], matchFields = [] }: Term): boolean {
  return matchExpressions.length + matchFields.length === 0;
}
