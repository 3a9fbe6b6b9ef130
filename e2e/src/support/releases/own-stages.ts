// The stages of docs/operations/rotate-keys.md#rotate-your-own, as an operator writes them.
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBinaries, issueCertificates } from '@sandlot/local-cluster';
import type { Team } from '../team.ts';
import { readEntries, writeEntries } from './own-secrets.ts';
import type { Entries } from './own-secrets.ts';

/** What each stage writes. */
export interface Stages {
  prepare(): Promise<void>;
  switch(): Promise<void>;
  finish(): Promise<void>;
}

const makeKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
const formatPublic = (key: string): string =>
  createPublicKey(createPrivateKey(key)).export({ format: 'pem', type: 'spki' }).toString();
const makePassword = (): string => `p${randomBytes(24).toString('hex')}`;
const makeText = (): string => randomBytes(32).toString('base64');

export async function planKeyPair(team: Team, secret: string): Promise<Stages> {
  const old = formatPublic((await readEntries(team, secret))['signing.key'] ?? '');
  const next = makeKey();
  return {
    prepare: () => writeEntries(team, secret, { 'signing.pub': old + formatPublic(next) }),
    switch: () => writeEntries(team, secret, { 'signing.key': next, 'signing.pub': formatPublic(next) + old }),
    finish: () => writeEntries(team, secret, { 'signing.pub': formatPublic(next) }),
  };
}

export async function planTokenKey(team: Team, secret: string): Promise<Stages> {
  const { 'envd.key': old = '', 'envd.key.number': number = '1' } = await readEntries(team, secret);
  const next = { number: String(Number(number) + 1), key: makeText() };
  const switched = { 'envd.key': next.key, 'envd.key.number': next.number, 'envd.key.other': `${number}:${old}` };
  return {
    prepare: () => writeEntries(team, secret, { 'envd.key.other': `${next.number}:${next.key}` }),
    switch: () => writeEntries(team, secret, switched),
    finish: () => writeEntries(team, secret, { 'envd.key.other': null }),
  };
}

export const renewSeed = (team: Team, secret: string): Promise<void> =>
  writeEntries(team, secret, { 'identity.seed': makeText() });

/** Passwords have no first stage. */
export async function planPasswords(team: Team, secret: string): Promise<Omit<Stages, 'prepare'>> {
  const users = Object.entries(await readEntries(team, secret));
  const next = users.flatMap(([user, old]) => [
    [user, makePassword()],
    [`${user}.previous`, old],
  ]);
  const gone = users.map(([user]) => [`${user}.previous`, null]);
  return {
    switch: () => writeEntries(team, secret, Object.fromEntries(next) as Entries),
    finish: () => writeEntries(team, secret, Object.fromEntries(gone) as Record<string, null>),
  };
}

interface Issued {
  readonly secret: string;
  readonly before: Entries;
  readonly crt: string;
  readonly key: string;
}

/** Certificates of one new authority for the names of those that the Secrets have. */
export async function planCertificates(team: Team, secrets: readonly string[]): Promise<Stages> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'sandlot-own-'));
  const before = await Promise.all(secrets.map((secret) => readEntries(team, secret)));
  const certificates = secrets.map((name, index) => ({ name, ...readNames(before[index]?.['tls.crt'] ?? '') }));
  await issueCertificates((await ensureBinaries(['pki']))('pki'), { dir: folder.path, certificates });
  const read = (file: string): Promise<string> => readFile(join(folder.path, file), 'utf8');
  const ca = await read('ca.crt');
  const issued = secrets.map(async (secret, index): Promise<Issued> => {
    return { secret, before: before[index] ?? {}, crt: await read(`${secret}.crt`), key: await read(`${secret}.key`) };
  });
  const all = await Promise.all(issued);
  const writeAll = async (get: (issued: Issued) => Entries): Promise<void> => {
    await Promise.all(all.map((each) => writeEntries(team, each.secret, get(each))));
  };
  return {
    prepare: () => writeAll((each) => ({ 'ca.crt': `${each.before['ca.crt'] ?? ''}${ca}` })),
    switch: () => writeAll(({ crt, key }) => ({ 'tls.crt': crt, 'tls.key': key })),
    finish: () => writeAll(() => ({ 'ca.crt': ca })),
  };
}

function readNames(pem: string): { readonly commonName: string; readonly dnsNames: readonly string[] } {
  const { subject, subjectAltName = '' } = new X509Certificate(pem);
  const commonName = /CN=(.*)/.exec(subject)?.[1] ?? '';
  const dnsNames = [...subjectAltName.matchAll(/DNS:([^,\s]+)/g)].map(([, name = '']) => name);
  return { commonName, dnsNames };
}
