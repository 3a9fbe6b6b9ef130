import { createKubeClient, loadCredentials, namespaces, secrets } from '@sandlot/kube';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { hashApiKey } from '@sandlot/tenancy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runKeysCommand } from './keys.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
  const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
  await client.create(namespaces, { metadata: { name: 'sandlot-system-keys' } });
  await client.close();
});
afterAll(() => plane.stop());

async function run(...args: string[]): Promise<string> {
  let text = '';
  const out = { write: (more: string) => (text += more) };
  expect(await runKeysCommand(args, { out, env: { KUBECONFIG: plane.kubeconfigPath } })).toBe(0);
  return text.trim();
}

describe('sandlot keys', () => {
  it('creates, lists and revokes a key, and stores only its digest', async () => {
    expect(await run('list')).toBe('No API keys.');
    const made = JSON.parse(await run('create', '-n', 'team-a', '--sandboxes', '5', '-o', 'json')) as {
      key: string;
      id: string;
    };
    expect(made).toMatchObject({ namespace: 'team-a', team: 'team-a', role: 'tenant', limits: { sandboxes: 5 } });
    const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
    const { data } = await client.get(secrets, { namespace: 'sandlot-system-keys', name: `api-key-${made.id}` });
    await client.close();
    const texts = Object.values(data ?? {}).map((value) => Buffer.from(value, 'base64').toString());
    expect(texts).toContain(hashApiKey(made.key));
    expect(texts.join()).not.toContain(made.key);
    const [head, line] = (await run('list')).split('\n');
    expect(head?.split(/ +/)).toEqual(['ID', 'NAMESPACE', 'TEAM', 'ROLE', 'CREATED', 'DESCRIPTION']);
    expect(line).toMatch(new RegExp(`^${made.id}  team-a`));
    expect(await run('revoke', made.id)).toBe(`revoked ${made.id}`);
    expect(await run('list')).toBe('No API keys.');
    await expect(run('revoke', made.id)).rejects.toThrow(`there is no API key "${made.id}"`);
  });

  it('copies the keys of another namespace once, with their ids', async () => {
    const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
    await client.create(namespaces, { metadata: { name: 'sandlot-system' } });
    await client.close();
    const made = await run('create', '-n', 'team-a', '--keys-namespace', 'sandlot-system', '-o', 'json');
    const { id } = JSON.parse(made) as { id: string };
    const copy = ['copy', '--from', 'sandlot-system'];
    expect(await run(...copy)).toBe('copied 1 keys from sandlot-system to sandlot-system-keys');
    expect(await run(...copy)).toBe('copied 0 keys from sandlot-system to sandlot-system-keys');
    expect(await run('list')).toContain(id);
    expect(await run('revoke', id)).toBe(`revoked ${id}`);
  });

  it.each([
    [['copy'], 'keys copy needs --from'],
    [['drop'], '"keys drop" is no command'],
    [['create'], 'keys create needs --namespace'],
    [['create', '-n', 'a', '--role', 'root'], '--role takes tenant or admin, not "root"'],
    [['create', '-n', 'a', '--sandboxes', 'many'], 'take numbers from 0 on'],
    [['revoke'], 'keys revoke needs the id of a key'],
  ])('rejects %j with a message', async (args, problem) => {
    await expect(run(...args)).rejects.toThrow(problem);
  });
});
