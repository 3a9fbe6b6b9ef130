import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { wantedCredentials } from '../plan/wanted.ts';
import { issueCertificates } from './issue.ts';

const DAY_MS = 86_400_000;
const [authority] = wantedCredentials.parse({
  secrets: [],
  authorities: [
    {
      name: 'x-nats authority',
      certificates: [
        { name: 'x-nats-tls', subject: 'x-nats', hosts: ['x-nats.sandlot-system.svc', 'localhost', '127.0.0.1'] },
        { name: 'x-node-tls', subject: 'sandlot-node', hosts: ['sandlot-node'] },
      ],
    },
  ],
}).authorities;
const NOW_MS = Date.now();
const [server, node] = issueCertificates(authority?.name ?? '', authority?.certificates ?? [], NOW_MS);

it('names its hosts, is good for ten years, and belongs to the authority of the others', () => {
  const certificate = new X509Certificate(server?.crt ?? '');
  expect(certificate.checkHost('x-nats.sandlot-system.svc')).toBe('x-nats.sandlot-system.svc');
  expect(certificate.checkHost('x-nats')).toBeUndefined();
  expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1');
  expect(Date.parse(certificate.validTo) - NOW_MS).toBeGreaterThan(3_649 * DAY_MS);
  expect(node?.ca).toBe(server?.ca);
  const ca = new X509Certificate(server?.ca ?? '');
  expect([ca.ca, certificate.ca, certificate.checkIssued(ca), certificate.verify(ca.publicKey)]).toEqual([
    true,
    false,
    true,
    true,
  ]);
});

it.each([
  ['accepts the server by its authority', server?.ca, 'localhost', undefined],
  [
    'refuses the server by another authority',
    issueCertificates('other', authority?.certificates ?? [], NOW_MS)[0]?.ca,
    'localhost',
    /certificate/,
  ],
  ['refuses the server under another name', server?.ca, 'sandlot-node', /altnames/],
])('a client %s', async (...[, ca, servername, refusal]) => {
  const listening = createServer({ cert: server?.crt, key: server?.key }, (socket) =>
    socket.on('error', () => undefined),
  );
  listening.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const socket = connect({ host: '127.0.0.1', port: (listening.address() as AddressInfo).port, ca, servername });
  const outcome = await once(socket, 'secureConnect').then(
    () => 'connected',
    (error: unknown) => String(error),
  );
  expect(outcome).toMatch(refusal ?? /^connected$/);
  socket.destroy();
  listening.close();
});
