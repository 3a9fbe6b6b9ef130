import type { RuntimeIdentity } from '@sandlot/api-types';
import type { Pod, PodSpec } from '@sandlot/kube/objects';

/** The variable by which a Pod without an installer announces its key. A Pod's spec never changes, so it stays true. */
export const IDENTITY_VARIABLE = 'SANDLOT_IDENTITY';

/** What the installer writes for the kubelet to publish, and what the variable says: docs/reference/runtime.md#identity. */
const TEXT = /^sandlot-identity:v1:([\w-]{43}):(\d{1,5}(?:,\d{1,5}){0,7})$/;

export function formatIdentity({ publicKeyHash, ports }: RuntimeIdentity): string {
  return `sandlot-identity:v1:${publicKeyHash}:${ports.join(',')}`;
}

export function parseIdentity(text = ''): RuntimeIdentity | undefined {
  const [, publicKeyHash, ports = ''] = TEXT.exec(text) ?? [];
  if (publicKeyHash === undefined) return undefined;
  return { publicKeyHash, ports: ports.split(',').map(Number) };
}

/** The containers of a Pod that announce a key, reduced to that variable. */
export function listAnnouncements({ containers }: Pick<PodSpec, 'containers'>): PodSpec['containers'] {
  return containers.flatMap(({ name, env = [] }) => {
    const announced = env.filter((variable) => variable.name === IDENTITY_VARIABLE && variable.value !== '');
    return announced.length === 0 ? [] : [{ name, env: announced }];
  });
}

/** The key that the Pod announces; undefined when it announces none. */
export function findAnnouncedIdentity({ spec }: Pod): RuntimeIdentity | undefined {
  const texts = listAnnouncements(spec).flatMap(({ env = [] }) => env.map(({ value }) => value));
  return texts.map(parseIdentity).find((identity) => identity !== undefined);
}

/** The spec without announcements: only the controller announces a key, and a template may have tried. */
export function withoutAnnouncements(spec: PodSpec): PodSpec {
  const isForged = spec.containers.some(({ env = [] }) => env.some(({ name }) => name === IDENTITY_VARIABLE));
  if (!isForged) return spec;
  const containers = spec.containers.map((container) =>
    container.env === undefined
      ? container
      : { ...container, env: container.env.filter(({ name }) => name !== IDENTITY_VARIABLE) },
  );
  return { ...spec, containers };
}
