import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@sandlot/std/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadInClusterCredentials } from './in-cluster.ts';
import { loadCredentials } from './load-credentials.ts';

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'sandlot-credentials-'))));
afterAll(() => rm(folder, { recursive: true }));

const put = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);

describe('in a pod', () => {
  const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };

  it('returns no credentials when the environment or the token is missing', async () => {
    const clock = new FakeClock();
    expect(await loadInClusterCredentials({ clock, env: {}, mount: folder })).toBeUndefined();
    expect(await loadInClusterCredentials({ clock, env, mount: join(folder, 'absent') })).toBeUndefined();
  });

  it('checks the token file every 10 s and reads it again when it has changed', async () => {
    const clock = new FakeClock();
    await Promise.all([put('ca.crt', 'CA'), put('token', 'first\n')]);
    const credentials = await loadInClusterCredentials({ clock, env, mount: folder });
    expect(credentials?.server).toBe('https://10.96.0.1:443');
    expect(String(credentials?.ca)).toBe('CA');
    expect(await credentials?.getAuthorization()).toBe('Bearer first');
    await put('token', 'second');
    await utimes(join(folder, 'token'), 1, 1);
    await clock.advance(9_999);
    expect(await credentials?.getAuthorization()).toBe('Bearer first');
    await clock.advance(1);
    expect(await credentials?.getAuthorization()).toBe('Bearer second');
    await rm(join(folder, 'token'));
    await clock.advance(10_000);
    expect(await credentials?.getAuthorization()).toBe('Bearer second');
  });

  it('reads the token and the CA again at once after a 401', async () => {
    await Promise.all([put('ca.crt', 'CA'), put('token', 'first')]);
    const credentials = await loadInClusterCredentials({ clock: new FakeClock(), env, mount: folder });
    await Promise.all([put('ca.crt', 'new CA'), put('token', 'second')]);
    await credentials?.refresh?.();
    expect(await credentials?.getAuthorization()).toBe('Bearer second');
    expect(String(credentials?.ca)).toBe('new CA');
  });

  it('puts an IPv6 address in brackets', async () => {
    await Promise.all([put('ca.crt', 'CA'), put('token', 'first')]);
    const six = { ...env, KUBERNETES_SERVICE_HOST: 'fd00::1' };
    const credentials = await loadInClusterCredentials({ clock: new FakeClock(), env: six, mount: folder });
    expect(credentials?.server).toBe('https://[fd00::1]:443');
  });
});

describe('with a kubeconfig', () => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');

  async function kubeconfig(user: object, cluster: object = {}): Promise<string> {
    const file = join(folder, 'kubeconfig');
    const config = {
      clusters: [{ name: 'c', cluster: { server: 'https://kube:6443', ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    await writeFile(file, JSON.stringify(config));
    return file;
  }

  /** A plugin that returns the number of its runs in the token. */
  const plugin = (): object => ({
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: [
      '-e',
      `const fs = require('fs'), f = ${JSON.stringify(join(folder, 'runs'))};
       fs.appendFileSync(f, '.');
       const token = 'run' + fs.readFileSync(f, 'utf8').length;
       console.log(JSON.stringify({ status: { token, clientCertificateData: 'cert-' + token, clientKeyData: 'key' } }))`,
    ],
    interactiveMode: 'Never',
  });

  it.each([
    ['a bearer token', { token: 't' }, 'Bearer t'],
    ['a user and a password', { username: 'jane', password: 'p' }, `Basic ${base64('jane:p')}`],
    ['nothing', {}, undefined],
  ])('authorizes with %s', async (_name, user, authorization) => {
    const credentials = await loadCredentials({ kubeconfig: await kubeconfig(user) });
    expect(await credentials.getAuthorization()).toBe(authorization);
    expect(credentials.server).toBe('https://kube:6443');
  });

  it('passes on certificates, server name and impersonation', async () => {
    const user = { 'client-certificate-data': base64('cert'), 'client-key-data': base64('key'), as: 'jane' };
    const cluster = { 'certificate-authority-data': base64('ca'), 'tls-server-name': 'kube.example.com' };
    const credentials = await loadCredentials({ kubeconfig: await kubeconfig(user, cluster) });
    const { ca, cert, key, insecure, serverName, impersonate } = credentials;
    expect([ca, cert, key].map(String)).toEqual(['ca', 'cert', 'key']);
    expect({ insecure, serverName, impersonate }).toEqual({
      insecure: false,
      serverName: 'kube.example.com',
      impersonate: 'jane',
    });
  });

  it('accepts any certificate only when configured to', async () => {
    const file = await kubeconfig({ token: 't' }, { 'insecure-skip-tls-verify': true });
    expect((await loadCredentials({ kubeconfig: file })).insecure).toBe(true);
  });

  it('runs an exec plugin once, and again after a 401', async () => {
    const clock = new FakeClock();
    const credentials = await loadCredentials({ kubeconfig: await kubeconfig({ exec: plugin() }), clock });
    expect(await credentials.getAuthorization()).toBe('Bearer run1');
    expect(String(credentials.cert)).toBe('cert-run1');
    await credentials.refresh?.();
    expect(await credentials.getAuthorization()).toBe('Bearer run1');
    await clock.advance(1_000);
    await credentials.refresh?.();
    expect(await credentials.getAuthorization()).toBe('Bearer run2');
    expect(String(credentials.cert)).toBe('cert-run2');
  });

  it('refuses a context that does not exist and a cluster behind a proxy, and names them', async () => {
    const file = await kubeconfig({});
    await expect(loadCredentials({ kubeconfig: file, context: 'y' })).rejects.toThrow('kubeconfig has no context "y"');
    const proxied = await kubeconfig({}, { 'proxy-url': 'http://proxy' });
    await expect(loadCredentials({ kubeconfig: proxied })).rejects.toThrow('proxy-url of c is not supported');
  });
});
