import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { isIPv4 } from 'node:net';
import type { WantedCertificate } from '../plan/wanted.ts';
import { bits, field, implicit, integer, octets, oid, sequence, set, time, TRUE, utf8 } from './der.ts';

const DAY_MS = 86_400_000;
const LIFE_MS = 3_650 * DAY_MS;
/** Clocks of other machines may be behind. */
const EARLIER_MS = 300_000;

const ECDSA_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));
/** Bits of KeyUsage: digitalSignature; keyCertSign; keyCertSign and cRLSign. */
const SIGNS_DATA = bits(Buffer.from([0x80]), 7);
const SIGNS_CERTIFICATES_ONLY = bits(Buffer.from([0x04]), 2);
const SIGNS_CERTIFICATES = bits(Buffer.from([0x06]), 1);
/** BasicConstraints of an authority below which there is none. */
const SIGNS_NO_AUTHORITIES = sequence(TRUE, integer(Buffer.from([0])));
const SERVER_AND_CLIENT = sequence(oid('1.3.6.1.5.5.7.3.1'), oid('1.3.6.1.5.5.7.3.2'));

/** The three files of a certificate, in PEM. */
export interface CertificateFiles {
  readonly ca: string;
  readonly crt: string;
  readonly key: string;
}

/** Certificates of a new authority, good for ten years. Its key is thrown away, so that nothing else can be signed with it. */
export function issueCertificates(
  authority: string,
  wanted: readonly WantedCertificate[],
  nowMs: number,
): readonly CertificateFiles[] {
  const ca = makeKeys();
  const issuer = formatAuthority(authority);
  const validity = formatLife(nowMs);
  const common = { issuer, validity, issuerKeys: ca };
  const usage = [extension('2.5.29.19', sequence(TRUE), true), extension('2.5.29.15', SIGNS_CERTIFICATES, true)];
  const own = buildCertificate({ ...common, subject: issuer, keys: ca, extensions: usage });
  return wanted.map(({ subject, hosts }) => {
    const keys = makeKeys();
    const extensions = [
      extension('2.5.29.19', sequence(), true),
      extension('2.5.29.15', SIGNS_DATA, true),
      extension('2.5.29.37', SERVER_AND_CLIENT),
      extension('2.5.29.17', sequence(...hosts.map(formatHost))),
    ];
    const crt = buildCertificate({ ...common, subject: formatName(subject), keys, extensions });
    return { ca: own, crt, key: exportKey(keys) };
  });
}

/** An authority that keeps its key, good for ten years: it may sign certificates of hosts, and no other authority. */
export function issueAuthority(name: string, nowMs: number): CertificateFiles {
  const keys = makeKeys();
  const subject = formatAuthority(name);
  const extensions = [
    extension('2.5.29.19', SIGNS_NO_AUTHORITIES, true),
    extension('2.5.29.15', SIGNS_CERTIFICATES_ONLY, true),
  ];
  const validity = formatLife(nowMs);
  const crt = buildCertificate({ issuer: subject, issuerKeys: keys, validity, subject, keys, extensions });
  return { ca: crt, crt, key: exportKey(keys) };
}

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

function makeKeys(): Keys {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function exportKey({ privateKey }: Keys): string {
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

interface Parts {
  readonly issuer: Buffer;
  readonly issuerKeys: Keys;
  readonly validity: Buffer;
  readonly subject: Buffer;
  readonly keys: Keys;
  readonly extensions: readonly Buffer[];
}

function buildCertificate({ issuer, issuerKeys, validity, subject, keys, extensions }: Parts): string {
  const identifiers = [
    extension('2.5.29.14', octets(getKeyId(keys))),
    extension('2.5.29.35', sequence(implicit(0, getKeyId(issuerKeys)))),
  ];
  const body = sequence(
    field(0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    ECDSA_SHA256,
    issuer,
    validity,
    subject,
    exportPublicKey(keys),
    field(3, sequence(...extensions, ...identifiers)),
  );
  const signature = sign('sha256', body, issuerKeys.privateKey);
  return toPem(sequence(body, ECDSA_SHA256, bits(signature)));
}

function exportPublicKey({ publicKey }: Keys): Buffer {
  return publicKey.export({ format: 'der', type: 'spki' });
}

function getKeyId(keys: Keys): Buffer {
  return createHash('sha256').update(exportPublicKey(keys)).digest().subarray(0, 20);
}

/** Two authorities of a rotation must not have the same name: some clients look for the issuer by it. */
function formatAuthority(name: string): Buffer {
  return formatName(`${name} ${randomBytes(4).toString('hex')}`);
}

function formatLife(nowMs: number): Buffer {
  return sequence(time(nowMs - EARLIER_MS), time(nowMs + LIFE_MS));
}

function formatName(commonName: string): Buffer {
  return sequence(set(sequence(oid('2.5.4.3'), utf8(commonName))));
}

function formatHost(host: string): Buffer {
  return isIPv4(host) ? implicit(7, Buffer.from(host.split('.').map(Number))) : implicit(2, Buffer.from(host));
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  return sequence(oid(id), ...(critical ? [TRUE] : []), octets(value));
}

function toPem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
