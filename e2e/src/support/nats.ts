import { secrets, services } from '@sandlot/kube';
import { inject } from 'vitest';
import type { Team } from './team.ts';

const NATS_PORT = 4222;

/** The address and the administrator of the release's NATS. */
export interface NatsAccess {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly tls: { readonly ca: string; readonly servername: string };
}

export async function readNatsAccess(team: Team): Promise<NatsAccess> {
  const namespace = inject('releaseNamespace');
  const [service, secret, certificate] = await Promise.all([
    team.client.get(services, { namespace, name: 'sandlot-nats' }),
    team.client.get(secrets, { namespace, name: 'sandlot-nats-auth' }),
    team.client.get(secrets, { namespace, name: 'sandlot-nats-tls' }),
  ]);
  return {
    url: `tls://${service.spec?.clusterIP ?? ''}:${NATS_PORT}`,
    user: 'admin',
    password: Buffer.from(secret.data?.['admin'] ?? '', 'base64').toString(),
    tls: {
      ca: Buffer.from(certificate.data?.['ca.crt'] ?? '', 'base64').toString(),
      servername: `sandlot-nats.${namespace}.svc`,
    },
  };
}
