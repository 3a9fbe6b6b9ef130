import { describe, expect, it } from 'vitest';
import { findTargetProblem, TargetAddresses } from './target.ts';

const rules = { privateAddresses: ['10.1.0.0/16'], blockedAddresses: ['8.8.0.0/16'], ports: [80, 443, 8443] };
const NOT_PUBLIC = 'webhook url must be a public address';

describe('the URL of a webhook', () => {
  it.each([
    'https://hooks.example.com/a?b=c',
    'http://hooks.example.com',
    'https://hooks.example.com:8443/',
    'https://1.1.1.1/',
    'https://[2606:4700:4700::1111]/',
    'http://10.1.2.3/',
  ])('may be %s', (url) => {
    expect(findTargetProblem(url, rules)).toBeUndefined();
  });

  it.each([
    ['http://127.0.0.1/', NOT_PUBLIC],
    ['http://2130706433/', NOT_PUBLIC],
    ['http://0x7f.1/', NOT_PUBLIC],
    ['http://[::1]/', NOT_PUBLIC],
    ['http://[::ffff:10.0.0.1]/', NOT_PUBLIC],
    ['http://[::ffff:169.254.169.254]/', NOT_PUBLIC],
    ['http://[64:ff9b::a00:1]/', NOT_PUBLIC],
    ['http://[fe80::1]/', NOT_PUBLIC],
    ['http://169.254.169.254/latest/meta-data', NOT_PUBLIC],
    ['http://10.2.0.1/', NOT_PUBLIC],
    ['http://8.8.8.8/', NOT_PUBLIC],
    ['http://localhost/', NOT_PUBLIC],
    ['http://a.localhost./', NOT_PUBLIC],
    ['http://kubernetes/', NOT_PUBLIC],
    ['http://kubernetes.default.svc/', NOT_PUBLIC],
    ['http://redis.sandlot.svc.cluster.local/', NOT_PUBLIC],
    ['https://user:word@example.com/', 'webhook url must not contain a user or a password'],
    ['https://example.com:22/', 'webhook url must have one of the ports 80, 443, 8443'],
    ['ftp://example.com/', 'webhook url begins with https:// or http://'],
    ['example.com', 'webhook url is no URL'],
    [`https://example.com/${'a'.repeat(2_048)}`, 'webhook url has at most 2048 characters'],
  ])('must not be %s', (url, problem) => {
    expect(findTargetProblem(url, rules)).toBe(problem);
  });
});

it.each([
  '',
  'example.com',
  'fe80::1%eth0',
  '::ffff:127.0.0.1',
  '::ffff:a00:1',
  '2002:7f00:1::',
  '100.64.0.1',
  '224.0.0.1',
])('an address %s is never connected to', (address) => {
  expect(new TargetAddresses(rules).allows(address)).toBe(false);
});
