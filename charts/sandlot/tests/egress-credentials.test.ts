import { describe, expect, it } from 'vitest';
import type { ContainerSpec, Rendered } from './chart.ts';
import { find, render } from './chart.ts';
import { readWanted } from './credentials.ts';

const EGRESS = 'sandlot-egress';
const PROOF = `${EGRESS}-proof`;
const VAULT = 'sandlot-system-vault';

const renderCredentials = (credentials: object = {}, others: object = {}): Promise<readonly Rendered[]> =>
  render({ ...others, egress: { enabled: true, credentials: { enabled: true, ...credentials } } });

function listContainers(objects: readonly Rendered[], workload: string): readonly ContainerSpec[] {
  return find(objects, 'Deployment', workload).spec?.template?.spec.containers ?? [];
}

function readEnv(objects: readonly Rendered[], workload: string, name?: string): Readonly<Record<string, unknown>> {
  const [container] = listContainers(objects, workload).filter((each) => name === undefined || each.name === name);
  return Object.fromEntries((container?.env ?? []).map((each) => [each.name, each.value ?? each['valueFrom']]));
}

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** The verbs over Secrets of a role, or undefined. */
function findSecretVerbs(objects: readonly Rendered[], kind: string, name: string): readonly string[] | undefined {
  const { rules = [] } = find(objects, kind, name) as unknown as { readonly rules?: readonly Rule[] };
  return rules.find(({ resources }) => resources.includes('secrets'))?.verbs;
}

describe('credentials of rules', () => {
  it('are off unless a value says so: no key, no right to Secrets', async () => {
    const objects = await render({ egress: { enabled: true } });
    expect(JSON.stringify(objects)).not.toMatch(/EGRESS_PROOF_KEY|EGRESS_RULES|VAULT_NAMESPACE|-vault/u);
    expect(findSecretVerbs(objects, 'ClusterRole', EGRESS)).toBeUndefined();
  });

  it('give the key of proofs to the rules process and the claim-controller, and never to the proxy', async () => {
    const objects = await renderCredentials();
    const key = { secretKeyRef: { name: PROOF, key: 'proof' } };
    expect(readEnv(objects, EGRESS, 'rules')).toMatchObject({ EGRESS_PROOF_KEY: key, EGRESS_NAMESPACE_SECRETS: 'true' });
    expect(readEnv(objects, 'sandlot-claim-controller')).toMatchObject({ EGRESS_PROOF_KEY: key });
    const holders = objects
      .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet' || kind === 'DaemonSet')
      .flatMap(({ metadata, spec }) =>
        (spec?.template?.spec.containers ?? [])
          .filter(({ env = [] }) => env.some((each) => JSON.stringify(each['valueFrom'] ?? '').includes(PROOF)))
          .map(({ name }) => `${metadata.name} ${name}`),
      );
    expect(holders.toSorted()).toEqual(['sandlot-claim-controller controller', `${EGRESS} rules`]);
    expect(readWanted(objects).secrets).toContainEqual(
      expect.objectContaining({ name: PROOF, given: false, entries: { proof: 'tokens' } }),
    );
  });

  it('and an inspection of all hosts have sandboxes trust the authority of the proxy, and nothing else has', async () => {
    const file = async (egress: object): Promise<unknown> =>
      readEnv(await render({ egress: { enabled: true, ...egress } }), 'sandlot-sandbox-controller')['EGRESS_CA_FILE'];
    expect(await file({})).toBeUndefined();
    expect(await file({ credentials: { enabled: true } })).toBe('/etc/sandlot/egress-ca/ca.crt');
    expect(await file({ inspect: 'All' })).toBe('/etc/sandlot/egress-ca/ca.crt');
    expect(readEnv(await renderCredentials(), 'sandlot-warmpool-controller')).toMatchObject({ EGRESS_RULES: 'true' });
  });

  it('may come from a Secret of the operator', async () => {
    const objects = await renderCredentials({ existingSecret: 'mine' });
    expect(readEnv(objects, EGRESS, 'rules')['EGRESS_PROOF_KEY']).toEqual({ secretKeyRef: { name: 'mine', key: 'proof' } });
    expect(readWanted(objects).secrets).toContainEqual(expect.objectContaining({ name: 'mine', given: true }));
  });

  it('come from Secrets of tenants only where a value says so', async () => {
    const all = await renderCredentials();
    expect(findSecretVerbs(all, 'ClusterRole', EGRESS)).toEqual(['list', 'watch']);
    expect(findSecretVerbs(all, 'ClusterRole', 'sandlot-claim-controller')).toEqual(['get']);
    const none = await renderCredentials({ namespaceSecrets: false });
    expect(findSecretVerbs(none, 'ClusterRole', EGRESS)).toBeUndefined();
    expect(findSecretVerbs(none, 'ClusterRole', 'sandlot-claim-controller')).toBeUndefined();
    expect(readEnv(none, EGRESS, 'rules')['EGRESS_NAMESPACE_SECRETS']).toBe('false');
  });

  it('that clients of the API store are in a namespace of their own, which the rules process only reads', async () => {
    const objects = await renderCredentials();
    expect(readEnv(objects, EGRESS, 'rules')['VAULT_NAMESPACE']).toBe(VAULT);
    expect(find(objects, 'Role', 'sandlot-egress-vault').metadata.namespace).toBe(VAULT);
    expect(findSecretVerbs(objects, 'Role', 'sandlot-egress-vault')).toEqual(['list', 'watch']);
    const own = await renderCredentials({ vaultNamespace: 'mine' });
    expect(readEnv(own, EGRESS, 'rules')['VAULT_NAMESPACE']).toBe('mine');
    const without = await renderCredentials({}, { api: { enabled: false }, gateway: { enabled: false } });
    expect(JSON.stringify(without)).not.toMatch(/VAULT_NAMESPACE|-vault/u);
  });

  it('go out over TLS alone, unless a value says otherwise', async () => {
    const read = async (values: object): Promise<unknown> =>
      readEnv(await renderCredentials(values), EGRESS, 'proxy')['SANDLOT_EGRESS_PLAINTEXT_RULES'];
    expect(await read({})).toBe('false');
    expect(await read({ plaintext: true })).toBe('true');
  });
});
