// What the API server accepts, refuses and shows of the kinds about memory.
import { join } from 'node:path';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sandbox, snapshot, template } from '../test/index.ts';
import type { SandboxSnapshotSpec, SandboxSpec } from '../src/index.ts';

const crds = join(import.meta.dirname, '../../../charts/sandlot/files/crds');
let server: ControlPlane;

beforeAll(async () => {
  server = await startControlPlane({ crds: [crds] });
});
afterAll(() => server.stop());

interface Written {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: { readonly name?: string | undefined; readonly annotations?: object | undefined };
  readonly spec: object;
}

/** The answer to a create of what a client writes; empty when it is accepted. */
async function send(object: Written, ...flags: readonly string[]): Promise<string> {
  const { name, annotations } = object.metadata;
  const body = JSON.stringify({ ...object, metadata: { name, annotations } });
  const { code, stderr } = await server.kubectl(['create', ...flags, '-f', '-'], body);
  return code === 0 ? '' : stderr;
}

/** The answer to a merge patch of a SandboxSnapshot. */
async function patch(name: string, body: object, ...flags: readonly string[]): Promise<string> {
  const { code, stderr } = await server.kubectl([
    ...['patch', 'sbss', name, '--type=merge', '-p', JSON.stringify(body)],
    ...flags,
  ]);
  return code === 0 ? '' : stderr;
}

async function print(resource: string, ...flags: readonly string[]): Promise<string[]> {
  const { stdout } = await server.kubectl(['get', resource, ...flags]);
  return stdout.trim().split('\n');
}

describe('a SandboxSnapshot', () => {
  const cases: [string, Partial<SandboxSnapshotSpec>, string][] = [
    ['an empty name of a Sandbox', { sandboxName: '' }, 'spec.sandboxName'],
    ['an empty class', { snapshotClassName: '' }, 'spec.snapshotClassName'],
    ['a lifetime of nothing', { ttlSeconds: 0 }, 'should be greater than or equal to 1'],
  ];
  it.each(cases)('is refused for %s', async (_what, spec, text) => {
    expect(await send(snapshot({ spec }), '--dry-run=server')).toContain(text);
  });

  it('is refused for what a Pod does not do once it is saved', async () => {
    const other = { ...snapshot(), spec: { sandboxName: 'a', whenSaved: 'Explode' } };
    expect(await send(other, '--dry-run=server')).toContain('Unsupported value: "Explode"');
  });

  it('saves memory unless its author says otherwise, and nothing but memory or files', async () => {
    expect(await send({ ...snapshot({ name: 'memory' }), spec: { sandboxName: 'a' } })).toBe('');
    expect((await print('sbss', 'memory', '-o', 'jsonpath={.spec.contents}'))[0]).toBe('Memory');
    const other = { ...snapshot(), spec: { sandboxName: 'a', contents: 'Clock' } };
    expect(await send(other, '--dry-run=server')).toContain('Unsupported value: "Clock"');
  });

  it('lets the Pod go on unless its author says otherwise', async () => {
    expect(await send({ ...snapshot({ name: 'plain' }), spec: { sandboxName: 'a' } })).toBe('');
    expect((await print('sbss', 'plain', '-o', 'jsonpath={.spec.whenSaved}'))[0]).toBe('Resume');
  });

  it('never changes what it is of, only how long it is kept', async () => {
    expect(await send(snapshot({ name: 'fixed', spec: { snapshotClassName: 'node' } }))).toBe('');
    const edit = (spec: object): Promise<string> => patch('fixed', { spec }, '--dry-run=server');
    expect(await edit({ sandboxName: 'other' })).toContain('sandboxName is immutable');
    expect(await edit({ snapshotClassName: 'other' })).toContain('snapshotClassName is immutable');
    expect(await edit({ snapshotClassName: null })).toContain('snapshotClassName is immutable');
    expect(await edit({ whenSaved: 'StayPaused' })).toContain('whenSaved is immutable');
    expect(await edit({ contents: 'Files' })).toContain('contents is immutable');
    expect(await edit({ ttlSeconds: 60 })).toBe('');
  });

  it('shows what it is of, how large it is and where it lies', async () => {
    expect(await send(snapshot({ name: 'listed' }))).toBe('');
    const status = {
      phase: 'Ready',
      nodeName: 'node-a',
      sizeBytes: 8_589_934_592,
      size: '8192Mi',
      remote: { state: 'Uploaded', digest: 'sha256:1', at: '2026-01-01T00:00:00Z' },
      disks: [{ name: 'work', claimName: 'listed-work-1' }],
      hasFiles: true,
      fingerprint: 'abc',
      fingerprintText: 'runsc-1-amd64',
      expiresAt: '2030-01-01T00:00:00Z',
      conditions: [
        { type: 'Ready', status: 'True', reason: 'Saved', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
    };
    expect(await patch('listed', { status }, '--subresource=status')).toBe('');
    const [head = '', row = ''] = await print('sandboxsnapshot', 'listed', '-o', 'wide');
    expect(head.split(/\s+/).filter(Boolean).join(' ')).toBe(
      'NAME SANDBOX PHASE REASON SIZE NODE BUCKET AGE FINGERPRINT EXPIRES',
    );
    expect(row).toMatch(
      /^listed +sandbox +Ready +Saved +8192Mi +node-a +Uploaded +\S+ +runsc-1-amd64 +2030-01-01T00:00:00Z *$/,
    );
  });

  it('keeps its status from users who write the spec', async () => {
    expect(await patch('listed', { status: { phase: 'Failed' } })).toBe('');
    expect((await print('sbss', 'listed', '-o', 'jsonpath={.status.phase}'))[0]).toBe('Ready');
  });
});

describe('a SandboxSnapshot that copies another, or makes a template', () => {
  const copyOf = { snapshotName: 'trained' };
  const cases: [string, Partial<SandboxSnapshotSpec>, string][] = [
    ['a copy whose Pod goes on', { copyOf }, 'copyOf requires whenSaved StayPaused'],
    ['a copy of no name', { copyOf: { snapshotName: '' }, whenSaved: 'StayPaused' }, 'spec.copyOf.snapshotName'],
    ['an empty template', { templateName: '' }, 'spec.templateName'],
    ['a template of a long name', { templateName: 'a'.repeat(254) }, 'may not be more than 253'],
    [
      'a template of a hibernation',
      { templateName: 'mine', whenSaved: 'StayPaused' },
      'templateName requires whenSaved Resume',
    ],
  ];
  it.each(cases)('is refused for %s', async (_what, spec, text) => {
    expect(await send(snapshot({ spec }), '--dry-run=server')).toContain(text);
  });

  it('never changes which', async () => {
    expect(await send(snapshot({ name: 'copy', spec: { copyOf, whenSaved: 'StayPaused' } }))).toBe('');
    expect(await send(snapshot({ name: 'maker', spec: { templateName: 'mine' } }))).toBe('');
    const edit = (name: string, spec: object): Promise<string> => patch(name, { spec }, '--dry-run=server');
    for (const other of [{ snapshotName: 'other' }, null])
      expect(await edit('copy', { copyOf: other })).toContain('copyOf is immutable');
    for (const other of ['other', null])
      expect(await edit('maker', { templateName: other })).toContain('templateName is immutable');
    expect(await edit('fixed', { templateName: 'late' })).toContain('templateName is immutable');
  });
});

describe('a Sandbox that starts from a snapshot', () => {
  const restoreFrom = { snapshotName: 'trained', onFailure: 'Boot' } as const;

  it.each(['v1beta1', 'v1alpha1'])('may say so by itself or by its template, in %s', async (version) => {
    for (const object of [sandbox({ spec: { restoreFrom } }), template({ spec: { restoreFrom } })]) {
      const apiVersion = (object.apiVersion ?? '').replace('v1beta1', version);
      expect(await send({ ...object, apiVersion }, '--dry-run=server')).toBe('');
    }
  });

  it('names it', async () => {
    const nameless = { restoreFrom: { snapshotName: '' } };
    for (const object of [sandbox({ spec: nameless }), template({ spec: nameless })])
      expect(await send(object, '--dry-run=server')).toContain('spec.restoreFrom.snapshotName');
  });

  it('never changes it, and does not boot without it unless it says so', async () => {
    const byDefault = { restoreFrom: { snapshotName: 'trained' } };
    expect(await send(sandbox({ name: 'restored', spec: byDefault }))).toBe('');
    expect(await send(sandbox({ name: 'booted' }))).toBe('');
    const path = 'jsonpath={.spec.restoreFrom.onFailure}';
    expect((await print('sandbox', 'restored', '-o', path))[0]).toBe('Fail');
    for (const [name, change] of [
      ['restored', { snapshotName: 'other' }],
      ['restored', { onFailure: 'Boot' }],
      ['restored', null],
      ['booted', restoreFrom],
    ] as const) {
      const body = JSON.stringify({ spec: { restoreFrom: change } });
      const { stderr } = await server.kubectl(['patch', 'sandbox', name, '--type=merge', '-p', body]);
      expect(stderr).toContain('restoreFrom is immutable');
    }
    const { code } = await server.kubectl(['patch', 'sandbox', 'restored', '--type=merge', '-p', SUSPEND]);
    expect(code).toBe(0);
  });

  it('on a template changes, and excludes a golden snapshot', async () => {
    expect(await send(template({ name: 'changing', spec: { restoreFrom } }))).toBe('');
    const edit = async (spec: object): Promise<string> => {
      const body = JSON.stringify({ spec });
      return (await server.kubectl(['patch', 'sandboxtemplate', 'changing', '--type=merge', '-p', body])).stderr;
    };
    expect(await edit({ golden: {} })).toContain('golden and restoreFrom are mutually exclusive');
    expect(await edit({ restoreFrom: { snapshotName: 'other' } })).toBe('');
    expect(await edit({ restoreFrom: null, golden: { snapshotClassName: 'node' } })).toBe('');
    const volumeClaimTemplates = [{ metadata: { name: 'work' }, spec: {} }];
    expect(await edit({ volumeClaimTemplates })).toContain('golden excludes volumeClaimTemplates');
    expect(await edit({ volumeClaimTemplates: [] })).toBe('');
  });
});

const SUSPEND = JSON.stringify({ spec: { operatingMode: 'Suspended' } });

describe('a SandboxSnapshotClass', () => {
  const named = (name: string, spec: object, annotations?: object): Written => ({
    apiVersion: 'sandlot.dev/v1alpha1',
    kind: 'SandboxSnapshotClass',
    metadata: { name, annotations },
    spec,
  });

  it('belongs to no namespace, and shows whether it is the default one', async () => {
    const isDefault = { 'sandlot.dev/is-default-class': 'true' };
    expect(await send(named('node', { retention: { readySeconds: 60 } }, isDefault))).toBe('');
    const [head = '', row = ''] = await print('sbsc', 'node', '-o', 'wide');
    expect(head.split(/\s+/).filter(Boolean).join(' ')).toBe('NAME DEFAULT STORE AGE FAILEDSECONDS READYSECONDS');
    expect(row).toMatch(/^node +true +Node +\S+ +600 +60 *$/);
  });

  it('keeps files beside the memory, on the node, unless it says otherwise', async () => {
    expect(await send(named('silent', {}))).toBe('');
    expect((await print('sbsc', 'silent', '-o', 'jsonpath={.spec}'))[0]).toBe('{"keepFiles":true,"store":"Node"}');
    const said = { store: 'Bucket', keepFiles: false, disks: { method: 'Clone' } };
    expect(await send(named('said', said), '--dry-run=server')).toBe('');
  });

  it.each([
    ['another store', { store: 'Tape' }, 'Unsupported value: "Tape"'],
    ['disks without a method', { disks: {} }, 'spec.disks.method'],
    ['disks by another method', { disks: { method: 'Guess' } }, 'Unsupported value: "Guess"'],
  ])('is refused for %s', async (_what, spec, text) => {
    expect(await send(named('odd', spec), '--dry-run=server')).toContain(text);
  });

  it.each([
    ['of no bytes', { bytesPerNamespace: 0 }, 'bytesPerNamespace'],
    ['of fewer snapshots than none', { snapshotsPerNamespace: -1 }, 'snapshotsPerNamespace'],
  ])('is refused for a quota %s', async (_what, quota, text) => {
    expect(await send(named('odd', { quota }), '--dry-run=server')).toContain(text);
  });

  it('may have a quota beyond 32 bits, and one of no snapshots', async () => {
    const quota = { bytesPerNamespace: 8_589_934_592, snapshotsPerNamespace: 0 };
    expect(await send(named('roomy', { quota }), '--dry-run=server')).toBe('');
  });

  it('is refused for a time that is none', async () => {
    expect(await send(named('odd', { retention: { readySeconds: 0 } }), '--dry-run=server')).toContain('readySeconds');
  });
});

describe('a suspension strategy', () => {
  const accepted: SandboxSpec['suspensionStrategy'][] = [
    { type: 'Stop' },
    { type: 'Hibernate' },
    { type: 'Hibernate', hibernate: { snapshotClassName: 'node', onFailure: 'KeepRunning' } },
    { type: 'Hibernate', hibernate: { contents: 'Files' } },
  ];
  it.each(accepted)('may be %j, on a Sandbox and on a template, in both versions', async (suspensionStrategy) => {
    for (const object of [sandbox({ spec: { suspensionStrategy } }), template({ spec: { suspensionStrategy } })]) {
      for (const version of ['v1beta1', 'v1alpha1']) {
        const apiVersion = (object.apiVersion ?? '').replace('v1beta1', version);
        expect(await send({ ...object, apiVersion }, '--dry-run=server')).toBe('');
      }
    }
  });

  it('that stops says nothing about hibernation', async () => {
    const suspensionStrategy = { type: 'Stop', hibernate: {} } as const;
    for (const object of [sandbox({ spec: { suspensionStrategy } }), template({ spec: { suspensionStrategy } })]) {
      expect(await send(object, '--dry-run=server')).toContain('hibernate requires type Hibernate');
    }
  });

  it('ends the Pod after a save that failed, unless it says otherwise', async () => {
    const strategy = { type: 'Hibernate', hibernate: {} } as const;
    expect(await send(sandbox({ name: 'sleeper', spec: { suspensionStrategy: strategy } }))).toBe('');
    const path = 'jsonpath={.spec.suspensionStrategy.hibernate.onFailure}';
    expect((await print('sandbox', 'sleeper', '-o', path))[0]).toBe('Stop');
  });

  it('saves memory until its author changes that', async () => {
    const strategy = { type: 'Hibernate', hibernate: {} } as const;
    expect(await send(sandbox({ name: 'changing', spec: { suspensionStrategy: strategy } }))).toBe('');
    const path = 'jsonpath={.spec.suspensionStrategy.hibernate.contents}';
    expect((await print('sandbox', 'changing', '-o', path))[0]).toBe('Memory');
    const edit = (contents: string): Promise<{ stderr: string }> =>
      server.kubectl([
        ...['patch', 'sandbox', 'changing', '--type=merge', '-p'],
        JSON.stringify({ spec: { suspensionStrategy: { hibernate: { contents } } } }),
      ]);
    expect((await edit('Files')).stderr).toBe('');
    expect((await print('sandbox', 'changing', '-o', path))[0]).toBe('Files');
    expect((await edit('Clock')).stderr).toContain('Unsupported value: "Clock"');
  });
});
