import { describe, expect, it } from 'vitest';
import type { Rendered } from './chart.ts';
import { find, profiles, render, template } from './chart.ts';

const NAME = 'sandlot-webhooks';
const renderWebhooks = (webhooks: object = {}, others: object = {}): Promise<readonly Rendered[]> =>
  render({ ...others, webhooks: { enabled: true, ...webhooks } });

function readEnv(objects: readonly Rendered[], deployment: string): Readonly<Record<string, string>> {
  const [container] = find(objects, 'Deployment', deployment).spec?.template?.spec.containers ?? [];
  return Object.fromEntries((container?.env ?? []).map(({ name, value = '' }) => [name, value]));
}

interface Policy {
  readonly ingress: readonly object[];
  readonly egress: readonly { readonly to?: readonly object[]; readonly ports?: readonly object[] }[];
}

describe('without webhooks.enabled', () => {
  it.each(Object.entries({ default: {}, ...profiles }))('the %s values render nothing of webhooks', async (_, values) => {
    const { stdout } = await template({ ...values, crds: { enabled: false } });
    expect(stdout).not.toMatch(/sandlot-webhooks|WEBHOOKS_URL|HOOKS_NAMESPACE/);
  });
});

describe('webhooks are refused', () => {
  const webhooks = { enabled: true };
  it.each<readonly [string, object, string]>([
    ['without the API', { webhooks, api: { enabled: false } }, 'leave api.enabled on'],
    ['without NATS', { webhooks, nats: { enabled: false } }, 'events come from NATS'],
    ['without Redis', { webhooks, redis: { enabled: false } }, 'deliveries wait in Redis'],
    ['in the namespace of API keys', { webhooks: { enabled: true, namespace: 'sandlot-system-keys' } }, 'webhooks.namespace (sandlot-system-keys) must differ'],
    ['with an address that is no block', { webhooks: { enabled: true, privateAddresses: ['10.0.0.1'] } }, 'webhooks/privateAddresses/0'],
  ])('%s', async (_, values, message) => {
    const { code, stderr } = await template(values);
    expect(stderr).toContain(message);
    expect(code).not.toBe(0);
  });
});

describe('the webhooks process', () => {
  it('and the API have the same rules on targets, and the API finds it', async () => {
    const values = { privateAddresses: ['10.1.0.0/16'], ports: [443, 8443], perTeam: 3 };
    const objects = await renderWebhooks(values, { network: { extraBlockedCIDRs: ['198.51.100.0/24'] } });
    const rules = {
      HOOKS_NAMESPACE: 'sandlot-system-webhooks',
      WEBHOOK_PORTS: '443,8443',
      WEBHOOK_PRIVATE_ADDRESSES: '10.1.0.0/16',
      WEBHOOK_BLOCKED_ADDRESSES: '198.51.100.0/24',
    };
    expect(readEnv(objects, NAME)).toMatchObject({ ...rules, NATS_USER: 'webhooks', REDIS_USER: 'webhooks' });
    const url = `http://${NAME}.sandlot-system.svc:8080`;
    expect(readEnv(objects, 'sandlot-api')).toMatchObject({ ...rules, WEBHOOKS_URL: url, WEBHOOKS_LIMIT: '3' });
  });

  it('reaches of the internet the ports of webhooks alone, and no private address that values do not name', async () => {
    const objects = await renderWebhooks({ privateAddresses: ['10.1.0.0/16'] });
    const { ingress, egress } = find(objects, 'NetworkPolicy', NAME).spec as unknown as Policy;
    const from = [{ podSelector: { matchLabels: { 'app.kubernetes.io/component': 'api' } } }];
    expect(ingress).toMatchObject([{ from, ports: [{ port: 'deliveries' }] }]);
    expect(egress).toMatchObject([
      {
        to: [
          { ipBlock: { cidr: '0.0.0.0/0', except: expect.arrayContaining(['10.0.0.0/8', '169.254.0.0/16', '127.0.0.0/8']) as unknown } },
          { ipBlock: { cidr: '::/0' } },
          { ipBlock: { cidr: '10.1.0.0/16' } },
        ],
        ports: [
          { port: 80, protocol: 'TCP' },
          { port: 443, protocol: 'TCP' },
        ],
      },
    ]);
  });

  it('has rights in the namespace of webhooks alone, where it writes one ConfigMap and no Secret', async () => {
    const objects = await renderWebhooks();
    const bound = objects.filter((object) => object.kind.endsWith('Binding') && JSON.stringify(object).includes(`"ServiceAccount","name":"${NAME}"`));
    expect(bound.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''} ${metadata.name}`).sort()).toEqual([
      `RoleBinding sandlot-system ${NAME}-leader`,
      `RoleBinding sandlot-system-webhooks ${NAME}-hooks`,
      `RoleBinding sandlot-system-webhooks ${NAME}-mark`,
    ]);
    expect(find(objects, 'Role', `${NAME}-hooks`).rules).toEqual([{ apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] }]);
    expect(find(objects, 'Role', `${NAME}-mark`).rules).toEqual([
      { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
      { apiGroups: [''], resources: ['configmaps'], resourceNames: ['webhooks-finished'], verbs: ['get', 'patch'] },
    ]);
  });

  it('may read events on NATS, and publish none', async () => {
    const config = find(await renderWebhooks(), 'ConfigMap', 'sandlot-nats').data?.['nats.conf'] ?? '';
    const [, own = ''] = /user: webhooks\n([^]*?)subscribe/u.exec(config) ?? [];
    const publishes = [...own.matchAll(/"([^"]+)"/gu)].map(([, subject]) => subject);
    expect(publishes).toEqual([
      'sandlot.presence.*',
      '_INBOX_webhooks.>',
      '$JS.API.STREAM.INFO.SANDLOT_EVENTS',
      '$JS.API.STREAM.INFO.SANDLOT_DEAD_LETTERS',
      '$JS.API.STREAM.MSG.GET.SANDLOT_EVENTS',
    ]);
  });

  it('has as many replicas as its values say, however many shards controllers have', async () => {
    const objects = await renderWebhooks({}, { controllers: { shards: 4 } });
    expect(find(objects, 'Deployment', NAME).spec).toMatchObject({ replicas: 1 });
    expect(readEnv(objects, NAME)).not.toHaveProperty('SHARDS');
  });
});
