import { annotations } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { claimOf, readCreate } from './from-e2b.ts';
import type { ClaimInput } from './from-e2b.ts';
import { newSandboxV1, newSandboxV2 } from '../e2b/request/schemas.ts';

const LIMITS = { maxTimeoutSeconds: 3_600, neverTimeout: false };
const NOW = Date.UTC(2026, 0, 1, 12, 0, 0, 500);
const ID = 'k3x9v0c2m4q8r1t7z5ab';
const KRUISE = 'e2b.agents.kruise.io/';
const KEY = {
  id: 'abc',
  hash: '',
  namespace: 'team-a',
  team: 'team-a',
  role: 'tenant',
  description: '',
  limits: {},
  createdAt: '',
} as const;

const read = (fields: object) => readCreate(newSandboxV2.parse({ templateID: 'base', ...fields }), LIMITS);

function claim(fields: object, input: Partial<ClaimInput> = {}) {
  const origin = {
    kind: 'pool',
    name: 'base',
    object: { metadata: {}, spec: { sandboxTemplateRef: { name: 'base' } } },
  } as const;
  const rest = { trafficTokenHash: undefined, digest: undefined, trace: undefined };
  return claimOf({ request: read(fields), key: KEY, id: ID, origin, nowMs: NOW, ...rest, ...input });
}

describe('a create', () => {
  it('has the timeouts of its version', () => {
    expect(newSandboxV2.parse({ templateID: 'base' }).timeout).toBe(300);
    expect(newSandboxV1.parse({ templateID: 'base', secure: true }).timeout).toBe(15);
  });

  it.each([
    ['a timeout of 0', { timeout: 0 }, 'timeout: expected more than 0'],
    ['a timeout beyond the quota', { timeout: 3_601 }, 'timeout: expected at most 3600'],
    ['autoPauseMemory without autoPause', { autoPauseMemory: false }, 'autoPauseMemory: false needs autoPause'],
    ['autoResume without autoPause', { autoResume: { enabled: true } }, 'autoResume needs autoPause'],
    [
      'a file-only pause that any request ends',
      { autoPause: true, autoPauseMemory: false, autoResume: { enabled: true } },
      'autoPauseMemory: false excludes autoResume',
    ],
    ['iam', { iam: { tokens: {} } }, 'iam is not available'],
    ['volumes', { volumeMounts: [{ name: 'a', path: '/a' }] }, 'volumeMounts are not available'],
    ['a domain', { network: { allowOut: ['*.example.com'] } }, 'network.allowOut: "*.example.com" is neither'],
    ['a wrong block', { network: { denyOut: ['10.0.0.0/33'] } }, 'network.denyOut: "10.0.0.0/33" is neither'],
    [
      'too many blocks',
      { network: { denyOut: Array.from({ length: 101 }, (_, index) => `10.0.0.${index}`) } },
      'network.denyOut: expected at most 100',
    ],
    ['a proxy', { network: { egressProxy: { address: 'a:1' } } }, 'network.egressProxy is not available'],
    ['a variable without a name', { envVars: { '': 'x' } }, 'cannot name a variable'],
    ['a value with a zero byte', { envVars: { A: '\0' } }, 'has a zero byte'],
    ['a label of the system', { metadata: { 'label:sandlot.dev/sandbox-id': 'x' } }, 'cannot be a label'],
    ['a value that is no label', { metadata: { 'label:team': 'a b' } }, 'cannot be the value of a label'],
    ['metadata without end', { metadata: { a: 'x'.repeat(70_000) } }, 'metadata: expected at most 65536 bytes'],
    [
      'an unknown key of OpenKruise',
      { metadata: { [`${KRUISE}sandbox-name`]: 'x' } },
      'is not supported by this installation',
    ],
    [
      'a wait without end',
      { metadata: { [`${KRUISE}claim-timeout-seconds`]: '100000' } },
      'expected whole seconds from 1 to 600',
    ],
    [
      'variables without a runtime',
      { envVars: { A: '1' }, metadata: { [`${KRUISE}skip-init-runtime`]: 'true' } },
      'need the runtime',
    ],
  ])('is refused with %s', (...[, fields, problem]) => {
    expect(() => read(fields)).toThrow(problem);
  });

  it.each([
    ['unknown fields', { nonsense: 1 }],
    [
      'null for what may be left out',
      { metadata: null, envVars: null, network: null, autoPause: null, mcp: null, iam: null },
    ],
    ['empty rules', { network: { allowOut: [], denyOut: [], rules: {}, egressProxy: null } }],
    ['internet access, which its template decides about', { allow_internet_access: true }],
  ])('is taken with %s', (_what, fields) => {
    expect(read(fields)).toMatchObject({ timeoutSeconds: 300, allowPublicTraffic: true });
  });
});

describe('the claim of a sandbox', () => {
  it('is deleted when its time is over, and says whose it is', () => {
    expect(claim({ timeout: 60, metadata: { user: 'ana', 'label:team': 'x' } })).toEqual({
      metadata: {
        namespace: 'team-a',
        name: ID,
        labels: { team: 'x', 'sandlot.dev/sandbox-id': ID },
        annotations: {
          'sandlot.dev/api-key-id': 'abc',
          'sandlot.dev/created-at': new Date(NOW).toISOString(),
          'sandlot.dev/on-timeout': 'kill',
          'sandlot.dev/metadata': '{"user":"ana","label:team":"x"}',
          'sandlot.dev/end-at': '2026-01-01T12:01:01Z',
          'sandlot.dev/timeout-seconds': '60',
        },
      },
      spec: {
        warmPoolRef: { name: 'base' },
        lifecycle: { shutdownTime: '2026-01-01T12:01:01Z', shutdownPolicy: 'Delete' },
      },
    });
  });

  it('that is paused at its end is not deleted then', () => {
    const { spec, metadata } = claim({ autoPause: true, autoResume: { enabled: true } });
    expect(spec.lifecycle).toBeUndefined();
    expect(metadata.annotations).toMatchObject({
      [annotations.onTimeout]: 'pause',
      [annotations.autoResume]: 'true',
      [annotations.endAt]: '2026-01-01T12:05:01Z',
    });
  });

  it('names the Secret of its variables, and holds no value', () => {
    const made = claim({ envVars: { A: 'hunter2', 'b.c-d': 'hunter3' } });
    expect(made.spec.envs).toEqual([
      { name: 'A', valueFrom: { secretKeyRef: { name: `${ID}-env`, key: 'env-0' } } },
      { name: 'b.c-d', valueFrom: { secretKeyRef: { name: `${ID}-env`, key: 'env-1' } } },
    ]);
    expect(JSON.stringify(made)).not.toContain('hunter');
  });

  it.each<[object, string]>([
    [{ allow_internet_access: false }, '{"allowInternetAccess":false,"allowOut":[],"denyOut":[]}'],
    [
      { network: { allowOut: ['1.1.1.1', '1.1.1.1/32'], denyOut: ['0.0.0.0/0', '2001:DB8::1/32'] } },
      '{"allowOut":["1.1.1.1/32"],"denyOut":["0.0.0.0/0","2001:db8::/32"]}',
    ],
  ])('says which egress rules it has, which hold when it is Ready: %j', (fields, expected) => {
    const notes = claim(fields).metadata.annotations ?? {};
    expect([notes[annotations.network], notes[annotations.networkApplied]]).toEqual([expected, expected]);
  });

  it.each([
    ['create-on-no-stock', 'false', { createOnNoStock: false }],
    ['create-on-no-stock', 'true', {}],
    ['wait-ready-timeout-seconds', '20', { waitReadyTimeout: '20s' }],
    ['claim-timeout-seconds', '5', { claimTimeout: '5s' }],
    ['skip-init-runtime', 'true', { skipInitRuntime: true }],
    ['image', 'debian:12', { inplaceUpdate: { image: 'debian:12' } }],
    ['reserve-failed-sandbox', 'forever', { reserveFailedSandbox: true }],
  ])('does what OpenKruise means by %s=%s, and keeps the key to itself', (...[name, value, fields]) => {
    const { spec, metadata } = claim({ metadata: { [KRUISE + name]: value, user: 'ana' } });
    expect(spec).toMatchObject({ warmPoolRef: { name: 'base' }, ...fields });
    expect(Object.keys(spec).sort()).toEqual(['lifecycle', 'warmPoolRef', ...Object.keys(fields)].sort());
    expect(metadata.annotations?.[annotations.metadata]).toBe('{"user":"ana"}');
  });

  it('of a template without a pool names the template', () => {
    const object = { metadata: {}, spec: { podTemplate: { spec: { containers: [] } } } };
    const origin = { kind: 'template', name: 'raw', object } as const;
    expect(claim({}, { origin }).spec).toMatchObject({ sandboxTemplateRef: { name: 'raw' } });
  });
});
