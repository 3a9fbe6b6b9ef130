import { createHash } from 'node:crypto';
import { VOLUMES_NAME, VOLUMES_PORT } from '@sandlot/api-types';
import { networkPolicies, persistentVolumeClaims, services } from '@sandlot/kube';
import type { JsonObject, KubeObject, Resource } from '@sandlot/kube';
import type { Part } from '../plan/scene.ts';
import type { VolumeSettings } from '../wiring/config.ts';
import { deployments } from './deployments.ts';

/** What the objects of namespaces have in common. */
export type ObjectSettings = Pick<
  VolumeSettings,
  | 'VOLUMES_STORAGE_CLASS'
  | 'VOLUMES_SIZE'
  | 'VOLUME_SERVER_IMAGE'
  | 'VOLUME_SERVER_PULL_POLICY'
  | 'VOLUME_SERVER_RESOURCES'
  | 'VOLUME_SERVER_PEERS'
> & {
  /** By which a file server recognises requests. */
  readonly hopKeys: readonly string[];
};

const COMPONENT = 'volume-server';
const MANAGER = 'sandlot-volume-controller';
/** Digest of what an object was made of. */
const CHECKSUM = 'checksum/settings';
/** The user `user` of sandboxes, so that its processes may change what came in over the API. */
const USER_ID = 1_000;
const DATA = '/data';
const selector = { 'app.kubernetes.io/name': VOLUMES_NAME, 'app.kubernetes.io/component': COMPONENT };
const labels = { ...selector, 'app.kubernetes.io/managed-by': MANAGER, 'app.kubernetes.io/part-of': 'sandlot' };

type WithSpec = KubeObject & { readonly spec?: JsonObject | undefined };

/** The kinds of the objects. */
export const resources: Readonly<Record<Part, Resource<WithSpec>>> = {
  disk: persistentVolumeClaims as Resource<WithSpec>,
  policy: networkPolicies as Resource<WithSpec>,
  service: services,
  server: deployments,
};

/** Whether this controller made the object. */
export function isOurs({ metadata }: KubeObject): boolean {
  return metadata.labels?.['app.kubernetes.io/managed-by'] === MANAGER;
}

/** Whether an object was made of the same as this one. */
export function isLike(present: KubeObject, wanted: KubeObject): boolean {
  return present.metadata.annotations?.[CHECKSUM] === wanted.metadata.annotations?.[CHECKSUM];
}

/** An object of a namespace, as the settings want it. */
export function buildObject(part: Part, namespace: string, settings: ObjectSettings): WithSpec {
  const spec = buildSpec(part, namespace, settings);
  // A disk stays as it was made: only its size could change.
  const text = part === 'disk' ? 'disk' : JSON.stringify(spec);
  const checksum = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return { metadata: { namespace, name: VOLUMES_NAME, labels, annotations: { [CHECKSUM]: checksum } }, spec };
}

function buildSpec(part: Part, namespace: string, settings: ObjectSettings): JsonObject {
  switch (part) {
    case 'disk':
      return {
        accessModes: ['ReadWriteMany'],
        storageClassName: settings.VOLUMES_STORAGE_CLASS,
        resources: { requests: { storage: settings.VOLUMES_SIZE } },
      };
    case 'policy':
      return {
        podSelector: { matchLabels: selector },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ from: settings.VOLUME_SERVER_PEERS, ports: [{ port: VOLUMES_PORT, protocol: 'TCP' }] }],
        egress: [],
      };
    case 'service':
      return { selector, ports: [{ name: 'http', port: VOLUMES_PORT, targetPort: VOLUMES_PORT, protocol: 'TCP' }] };
    case 'server':
      return buildServer(namespace, settings);
  }
}

/** Two file servers would each remove the uploads of the other, so the old one ends first. */
function buildServer(namespace: string, settings: ObjectSettings): JsonObject {
  return {
    replicas: 1,
    revisionHistoryLimit: 1,
    strategy: { type: 'Recreate' },
    selector: { matchLabels: selector },
    template: {
      metadata: { labels },
      spec: {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        terminationGracePeriodSeconds: 30,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: USER_ID,
          runAsGroup: USER_ID,
          fsGroup: USER_ID,
          fsGroupChangePolicy: 'OnRootMismatch',
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [buildContainer(namespace, settings)],
        volumes: [{ name: 'volumes', persistentVolumeClaim: { claimName: VOLUMES_NAME } }],
      },
    },
  };
}

function buildContainer(namespace: string, settings: ObjectSettings): JsonObject {
  const probe = { httpGet: { path: '/healthz', port: VOLUMES_PORT } };
  return {
    name: 'file-server',
    image: settings.VOLUME_SERVER_IMAGE,
    imagePullPolicy: settings.VOLUME_SERVER_PULL_POLICY,
    env: [
      { name: 'VOLUMES_ADDRESS', value: `:${VOLUMES_PORT}` },
      { name: 'VOLUMES_DATA', value: DATA },
      { name: 'VOLUMES_NAMESPACE', value: namespace },
      { name: 'VOLUMES_KEYS', value: settings.hopKeys.join(',') },
    ],
    ports: [{ name: 'http', containerPort: VOLUMES_PORT, protocol: 'TCP' }],
    readinessProbe: { ...probe, periodSeconds: 1 },
    livenessProbe: { ...probe, periodSeconds: 10, failureThreshold: 6 },
    resources: settings.VOLUME_SERVER_RESOURCES,
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [{ name: 'volumes', mountPath: DATA }],
  };
}
