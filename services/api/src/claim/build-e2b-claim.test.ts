import { annotations } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { readCreate } from '../e2b/request/read-create.ts';
import { newSandboxV2 } from '../e2b/request/schemas.ts';
import { buildE2bClaim } from './build-e2b-claim.ts';
import type { ClaimInput } from './build-e2b-claim.ts';

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0, 500);
const ID = 'k3x9v0c2m4q8r1t7z5ab';
const CONTROL_PREFIX = 'e2b.agents.kruise.io/';
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

/** The claim of a create with these fields in its body. */
function build(fields: object, input: Partial<ClaimInput> = {}) {
  const body = newSandboxV2.parse({ templateID: 'base', ...fields });
  return buildE2bClaim({
    request: readCreate(body, { maxTimeoutSeconds: 3_600 }),
    key: KEY,
    sandboxLimit: 5,
    id: ID,
    source: { kind: 'pool', name: 'base' },
    snapshotName: undefined,
    rules: [],
    volumes: [],
    nowMs: NOW,
    tokens: {},
    digest: undefined,
    trace: undefined,
    ...input,
  });
}

describe('buildE2bClaim', () => {
  it('sets the shutdown time, the metadata and the API key', () => {
    expect(build({ timeout: 60, metadata: { user: 'ana', 'label:team': 'x' } })).toEqual({
      metadata: {
        namespace: 'team-a',
        name: ID,
        labels: { team: 'x', 'sandlot.dev/sandbox-id': ID },
        annotations: {
          'sandlot.dev/api-key-id': 'abc',
          'sandlot.dev/api-key-sandboxes': '5',
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

  it('sets no shutdown time if the sandbox is paused at its timeout', () => {
    const { spec, metadata } = build({ autoPause: true, autoResume: { enabled: true } });
    expect(spec.lifecycle).toBeUndefined();
    expect(metadata.annotations).toMatchObject({
      [annotations.onTimeout]: 'pause',
      [annotations.autoResume]: 'true',
      [annotations.endAt]: '2026-01-01T12:05:01Z',
    });
  });

  it('records that the pause at its end keeps no memory', () => {
    const { metadata } = build({ autoPause: true, autoPauseMemory: false });
    expect(metadata.annotations?.[annotations.autoPauseMemory]).toBe('false');
    expect(build({ autoPause: true }).metadata.annotations).not.toHaveProperty(annotations.autoPauseMemory);
  });

  it('refers to the stored environment variables and contains none of their values', () => {
    const claim = build({ envVars: { A: 'hunter2', 'b.c-d': 'hunter3' } });
    expect(claim.spec.envs).toEqual([
      { name: 'A', valueFrom: { secretKeyRef: { name: 'sandlot.dev/envs', key: 'env-0' } } },
      { name: 'b.c-d', valueFrom: { secretKeyRef: { name: 'sandlot.dev/envs', key: 'env-1' } } },
    ]);
    expect(JSON.stringify(claim)).not.toContain('hunter');
  });

  it.each<[object, string]>([
    [{ allow_internet_access: false }, '{"allowInternetAccess":false,"allowOut":[],"denyOut":[]}'],
    [
      { network: { allowOut: ['1.1.1.1', '1.1.1.1/32'], denyOut: ['0.0.0.0/0', '2001:DB8::1/32'] } },
      '{"allowOut":["1.1.1.1/32"],"denyOut":["0.0.0.0/0","2001:db8::/32"]}',
    ],
  ])('records the egress rules as requested and applied: %j', (fields, expected) => {
    const { annotations: actual = {} } = build(fields).metadata;
    expect([actual[annotations.network], actual[annotations.networkApplied]]).toEqual([expected, expected]);
  });

  it('records header rules by the keys of their values, which deny nothing', () => {
    const rules = [{ host: 'a.example', methods: [], paths: [], headers: [{ name: 'A', stored: 'h-1-0' }] }];
    const { annotations: actual = {} } = build({}, { rules }).metadata;
    const text = JSON.stringify({ rules });
    expect([actual[annotations.network], actual[annotations.networkApplied]]).toEqual([text, text]);
  });

  it.each([
    ['create-on-no-stock', 'false', { createOnNoStock: false }],
    ['create-on-no-stock', 'true', {}],
    ['wait-ready-timeout-seconds', '20', { waitReadyTimeout: '20s' }],
    ['claim-timeout-seconds', '5', { claimTimeout: '5s' }],
    ['skip-init-runtime', 'true', { skipInitRuntime: true }],
    ['image', 'debian:12', { inplaceUpdate: { image: 'debian:12' } }],
    ['cpu-request', '500m', { inplaceUpdate: { resources: { requests: { cpu: '500m' } } } }],
    ['cpu-limit', '1.5', { inplaceUpdate: { resources: { limits: { cpu: '1.5' } } } }],
    ['reserve-failed-sandbox', 'forever', { reserveFailedSandbox: true }],
    ['sandbox-name', 'my-box', { sandboxName: 'my-box' }],
    ['sandbox-name', 'a'.repeat(63), { sandboxName: 'a'.repeat(63) }],
    [
      'csi-volume-config',
      '[{"pvName":"set","mountPath":"/in","subPath":"a/b","readOnly":true},{"pvName":"set","mountPath":"/all"}]',
      {
        dynamicVolumes: [
          { persistentVolumeClaimName: 'set', mountPath: '/in', subPath: 'a/b', readOnly: true },
          { persistentVolumeClaimName: 'set', mountPath: '/all' },
        ],
      },
    ],
    ['csi-volume-config', '[]', {}],
    ['reserve-failed-sandbox', 'false', {}],
    ['reserve-failed-sandbox-for', 'forever', { reserveFailedSandbox: true }],
    ['reserve-failed-sandbox-for', 'never', {}],
    ['reserve-failed-sandbox-for', '10m', { reserveFailedSandbox: true, reserveFailedSandboxFor: '600s' }],
    ['reserve-failed-sandbox-for', '90', { reserveFailedSandbox: true, reserveFailedSandboxFor: '90s' }],
    ['reserve-failed-sandbox-for', '1.2s', { reserveFailedSandbox: true, reserveFailedSandboxFor: '2s' }],
  ])('translates the control key %s=%s and removes it from the metadata', (...[name, value, fields]) => {
    const { spec, metadata } = build({ metadata: { [CONTROL_PREFIX + name]: value, user: 'ana' } });
    expect(spec).toMatchObject({ warmPoolRef: { name: 'base' }, ...fields });
    expect(Object.keys(spec).sort()).toEqual(['lifecycle', 'warmPoolRef', ...Object.keys(fields)].sort());
    expect(metadata.annotations?.[annotations.metadata]).toBe('{"user":"ana"}');
  });

  it.each([
    ['true', '10m', { reserveFailedSandbox: true, reserveFailedSandboxFor: '600s' }],
    ['1h', 'forever', { reserveFailedSandbox: true, reserveFailedSandboxFor: '3600s' }],
    ['never', 'false', {}],
  ])('keeps a failed sandbox as reserve-failed-sandbox=%s and -for=%s say together', (...[kept, keptFor, fields]) => {
    const pairs = [
      [`${CONTROL_PREFIX}reserve-failed-sandbox`, kept],
      [`${CONTROL_PREFIX}reserve-failed-sandbox-for`, keptFor],
    ] as const;
    for (const order of [pairs, [...pairs].reverse()]) {
      const { spec } = build({ metadata: Object.fromEntries<string>(order) });
      expect(Object.keys(spec).sort()).toEqual(['lifecycle', 'warmPoolRef', ...Object.keys(fields)].sort());
      expect(spec).toMatchObject(fields);
    }
  });

  it('asks for image, CPU request and CPU limit in one change of the Pod', () => {
    const wanted = { image: 'debian:12', 'cpu-request': '1', 'cpu-limit': '2' };
    const metadata = Object.fromEntries(Object.entries(wanted).map(([name, value]) => [CONTROL_PREFIX + name, value]));
    expect(build({ metadata }).spec.inplaceUpdate).toEqual({
      image: 'debian:12',
      resources: { requests: { cpu: '1' }, limits: { cpu: '2' } },
    });
  });

  it('names the volume of csi-volume-name, csi-mount-point and csi-subpath, and no PersistentVolume', () => {
    const keys = { 'csi-volume-name': 'dataset', 'csi-mount-point': '/data', 'csi-subpath': 'spring' };
    const metadata = Object.fromEntries(Object.entries(keys).map(([name, value]) => [CONTROL_PREFIX + name, value]));
    expect(build({ metadata }).spec.dynamicVolumes).toEqual([
      { persistentVolumeClaimName: 'dataset', mountPath: '/data', subPath: 'spring' },
    ]);
  });

  it('completes sandbox-generate-name, for a repeated create in the same way, without a part of the id', () => {
    const metadata = { [`${CONTROL_PREFIX}sandbox-generate-name`]: `${'b'.repeat(54)}-` };
    const { sandboxName = '' } = build({ metadata }).spec;
    expect(sandboxName).toMatch(/^b{54}-[0-9a-f]{8}$/);
    expect(build({ metadata }).spec.sandboxName).toBe(sandboxName);
    expect(build({ metadata }, { id: 'another' }).spec.sandboxName).not.toBe(sandboxName);
    expect(ID).not.toContain(sandboxName.slice(-8));
  });

  it('has no end with never-timeout', () => {
    const { spec, metadata } = build({ metadata: { [`${CONTROL_PREFIX}never-timeout`]: 'true' } });
    expect(spec.lifecycle).toBeUndefined();
    expect(metadata.annotations).not.toHaveProperty(annotations.endAt);
  });

  it('records how long reserve-paused-sandbox-duration has it kept while it is paused', () => {
    const { metadata } = build({ metadata: { [`${CONTROL_PREFIX}reserve-paused-sandbox-duration`]: '2h' } });
    expect(metadata.annotations?.[annotations.pausedRetention]).toBe('2h');
  });

  it('names the template if there is no pool', () => {
    expect(build({}, { source: { kind: 'template', name: 'raw' } }).spec).toMatchObject({
      sandboxTemplateRef: { name: 'raw' },
    });
  });
});
