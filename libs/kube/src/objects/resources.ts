import { defineResource } from './object.ts';
import type { Condition, KubeObject } from './object.ts';

// Only the fields this project reads or writes are typed. At run time objects carry everything the server sent.

/** Fields we pass through without reading them. */
export interface OpenObject {
  [field: string]: unknown;
}

export interface LabelSelector {
  matchLabels?: Record<string, string> | undefined;
  matchExpressions?: { key: string; operator: string; values?: string[] | undefined }[] | undefined;
}

export interface EnvVar extends OpenObject {
  name: string;
  value?: string | undefined;
}

export interface VolumeMount extends OpenObject {
  name: string;
  mountPath: string;
}

export interface ResourceRequirements extends OpenObject {
  requests?: Record<string, string | number> | undefined;
  limits?: Record<string, string | number> | undefined;
}

export interface Container extends OpenObject {
  name: string;
  image?: string | undefined;
  command?: string[] | undefined;
  args?: string[] | undefined;
  env?: EnvVar[] | undefined;
  volumeMounts?: VolumeMount[] | undefined;
  ports?: { containerPort: number; name?: string | undefined; protocol?: string | undefined }[] | undefined;
  resources?: ResourceRequirements | undefined;
  imagePullPolicy?: string | undefined;
}

export interface Volume extends OpenObject {
  name: string;
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean | undefined } | undefined;
}

export interface PodSpec extends OpenObject {
  containers: Container[];
  initContainers?: Container[] | undefined;
  volumes?: Volume[] | undefined;
  nodeName?: string | undefined;
  serviceAccountName?: string | undefined;
  automountServiceAccountToken?: boolean | undefined;
  restartPolicy?: string | undefined;
  runtimeClassName?: string | undefined;
  dnsPolicy?: string | undefined;
  dnsConfig?: OpenObject | undefined;
  terminationGracePeriodSeconds?: number | undefined;
}

interface ContainerStateDetail {
  reason?: string | undefined;
  message?: string | undefined;
  exitCode?: number | undefined;
  startedAt?: string | undefined;
  finishedAt?: string | undefined;
}

export interface ContainerStatus {
  name: string;
  ready?: boolean | undefined;
  restartCount?: number | undefined;
  image?: string | undefined;
  imageID?: string | undefined;
  state?:
    | {
        waiting?: ContainerStateDetail | undefined;
        running?: ContainerStateDetail | undefined;
        terminated?: ContainerStateDetail | undefined;
      }
    | undefined;
  /** How the run before the present one ended. */
  lastState?: { terminated?: ContainerStateDetail | undefined } | undefined;
  /** What the node has set, which may differ from the spec while the Pod is resized. */
  resources?: ResourceRequirements | undefined;
}

export interface Pod extends KubeObject {
  spec: PodSpec;
  status?:
    | {
        phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown' | undefined;
        reason?: string | undefined;
        message?: string | undefined;
        podIP?: string | undefined;
        podIPs?: { ip: string }[] | undefined;
        hostIP?: string | undefined;
        startTime?: string | undefined;
        conditions?: Condition[] | undefined;
        containerStatuses?: ContainerStatus[] | undefined;
        initContainerStatuses?: ContainerStatus[] | undefined;
      }
    | undefined;
}

export interface Service extends KubeObject {
  spec?:
    | {
        clusterIP?: string | undefined;
        /** One of each family. A headless Service has `None`. */
        clusterIPs?: string[] | undefined;
        type?: string | undefined;
        selector?: Record<string, string> | undefined;
        ports?: { name?: string; port: number; targetPort?: number | string; protocol?: string }[] | undefined;
        publishNotReadyAddresses?: boolean | undefined;
        ipFamilies?: string[] | undefined;
        ipFamilyPolicy?: string | undefined;
      }
    | undefined;
}

export interface PersistentVolumeClaimSpec extends OpenObject {
  accessModes?: string[] | undefined;
  resources?: ResourceRequirements | undefined;
  storageClassName?: string | undefined;
  volumeMode?: string | undefined;
  volumeName?: string | undefined;
}

export interface PersistentVolumeClaim extends KubeObject {
  spec: PersistentVolumeClaimSpec;
  status?:
    | {
        phase?: 'Pending' | 'Bound' | 'Lost' | undefined;
        capacity?: Record<string, string> | undefined;
        conditions?: Condition[] | undefined;
      }
    | undefined;
}

export interface PersistentVolume extends KubeObject {
  spec?:
    | {
        accessModes?: string[] | undefined;
        capacity?: Record<string, string> | undefined;
        claimRef?: { namespace?: string; name?: string; uid?: string } | undefined;
        storageClassName?: string | undefined;
        volumeMode?: string | undefined;
      }
    | undefined;
  status?: { phase?: string | undefined } | undefined;
}

export interface Namespace extends KubeObject {
  status?: { phase?: 'Active' | 'Terminating' | undefined } | undefined;
}

export interface Node extends KubeObject {
  spec?: { unschedulable?: boolean | undefined; taints?: { key: string; effect: string }[] | undefined } | undefined;
  status?: { conditions?: Condition[] | undefined; allocatable?: Record<string, string> | undefined } | undefined;
}

export interface Lease extends KubeObject {
  spec?:
    | {
        holderIdentity?: string | undefined;
        leaseDurationSeconds?: number | undefined;
        /** MicroTime: six digits of fraction. */
        acquireTime?: string | undefined;
        renewTime?: string | undefined;
        leaseTransitions?: number | undefined;
      }
    | undefined;
}

/** Identifies the object an event is about. */
export interface ObjectReference {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
  uid?: string | undefined;
  resourceVersion?: string | undefined;
}

/** `events.k8s.io/v1`. */
export interface Event extends KubeObject {
  /** MicroTime. */
  eventTime: string;
  type: 'Normal' | 'Warning';
  reason: string;
  action: string;
  note?: string | undefined;
  regarding: ObjectReference;
  related?: ObjectReference | undefined;
  reportingController: string;
  reportingInstance: string;
  series?: { count: number; lastObservedTime: string } | undefined;
  /** Of reporters that still use the core API. */
  deprecatedLastTimestamp?: string | undefined;
}

export interface Secret extends KubeObject {
  type?: string | undefined;
  immutable?: boolean | undefined;
  data?: Record<string, string> | undefined;
  stringData?: Record<string, string> | undefined;
}

export interface ConfigMap extends KubeObject {
  data?: Record<string, string> | undefined;
}

export interface NetworkPolicy extends KubeObject {
  spec?:
    | {
        podSelector?: LabelSelector | undefined;
        policyTypes?: string[] | undefined;
        ingress?: OpenObject[] | undefined;
        egress?: OpenObject[] | undefined;
      }
    | undefined;
}

/** `policy/v1`. */
export interface PodDisruptionBudget extends KubeObject {
  spec?:
    | {
        minAvailable?: number | string | undefined;
        maxUnavailable?: number | string | undefined;
        selector?: LabelSelector | undefined;
        unhealthyPodEvictionPolicy?: string | undefined;
      }
    | undefined;
  status?: { observedGeneration?: number | undefined; disruptionsAllowed?: number | undefined } | undefined;
}

export interface CustomResourceDefinition extends KubeObject {
  spec?: OpenObject | undefined;
  status?: { conditions?: Condition[] | undefined } | undefined;
}

const core = { group: '', version: 'v1' };
const inNamespace = { namespaced: true };
const inCluster = { namespaced: false };

export const pods = defineResource<Pod>({ ...core, ...inNamespace, plural: 'pods', kind: 'Pod' });
export const services = defineResource<Service>({ ...core, ...inNamespace, plural: 'services', kind: 'Service' });
export const secrets = defineResource<Secret>({ ...core, ...inNamespace, plural: 'secrets', kind: 'Secret' });
export const configMaps = defineResource<ConfigMap>({
  ...core,
  ...inNamespace,
  plural: 'configmaps',
  kind: 'ConfigMap',
});
export const persistentVolumeClaims = defineResource<PersistentVolumeClaim>({
  ...core,
  ...inNamespace,
  plural: 'persistentvolumeclaims',
  kind: 'PersistentVolumeClaim',
});
export const persistentVolumes = defineResource<PersistentVolume>({
  ...core,
  ...inCluster,
  plural: 'persistentvolumes',
  kind: 'PersistentVolume',
});
export const namespaces = defineResource<Namespace>({ ...core, ...inCluster, plural: 'namespaces', kind: 'Namespace' });
export const nodes = defineResource<Node>({ ...core, ...inCluster, plural: 'nodes', kind: 'Node' });
export const leases = defineResource<Lease>({
  ...inNamespace,
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
});
export const events = defineResource<Event>({
  ...inNamespace,
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
});
export const networkPolicies = defineResource<NetworkPolicy>({
  ...inNamespace,
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'networkpolicies',
  kind: 'NetworkPolicy',
});
export const podDisruptionBudgets = defineResource<PodDisruptionBudget>({
  ...inNamespace,
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
});
export const storageClasses = defineResource({
  ...inCluster,
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'storageclasses',
  kind: 'StorageClass',
});
export const customResourceDefinitions = defineResource<CustomResourceDefinition>({
  ...inCluster,
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
});
