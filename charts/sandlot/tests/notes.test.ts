import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { chartFolder, renderNotes, withHibernation } from './chart.ts';

/** What a shell would send to `kubectl apply` by the first here-document. */
function readManifests(notes: string): Record<string, unknown>[] {
  const [, text = ''] = /<<EOF\n(.*?)\n {2}EOF\n/s.exec(notes) ?? [];
  return parseAllDocuments(text.replaceAll(/^ {2}/gm, '')).map((document) => document.toJS() as Record<string, unknown>);
}

describe('what helm says after an installation', () => {
  it('shows a first claim of a template of its own', async () => {
    const [template, claim] = readManifests(await renderNotes());
    expect([template?.['kind'], claim?.['kind']]).toEqual(['SandboxTemplate', 'SandboxClaim']);
    expect(claim?.['spec']).toEqual({ sandboxTemplateRef: { name: 'first' } });
    expect(template?.['metadata']).toEqual({ name: 'first' });
  });

  it('applies it where sandboxes are served', async () => {
    expect(await renderNotes()).toContain('kubectl -n default apply -f -');
    expect(await renderNotes({ watchNamespaces: ['team-a', 'team-b'] })).toContain('kubectl -n team-a apply -f -');
  });

  it('runs the first command in the sandbox of that claim, through the gateway where it takes tokens', async () => {
    const named = `SANDBOX=$(kubectl -n default get sandboxclaim first -o jsonpath='{.status.sandbox.name}')`;
    const open = await renderNotes({ gateway: { agentSandbox: { auth: 'token' } } });
    expect(open).toContain(named);
    expect(open).toContain('-H "X-Sandbox-ID: $SANDBOX"');
    const closed = await renderNotes({ gateway: { enabled: false } });
    expect(closed).toContain(named);
    expect(closed).toContain('kubectl -n default exec "$SANDBOX" -- echo hello');
  });

  it('names every CRD that an uninstallation keeps', async () => {
    const files = await readdir(join(chartFolder, 'files/crds'));
    const crds = files.map((file) => {
      const [group = '', plural = ''] = file.replace('.yaml', '').split('_');
      return `${plural}.${group}`;
    });
    const [, removal = ''] = /kubectl delete crd \\\n((?:.* \\\n)*.*)/.exec(await renderNotes()) ?? [];
    expect(removal.split(/[ \\\n]+/).filter((word) => word !== '')).toEqual(crds);
  });

  it.each([
    ['EVERY sandbox and its volumes', { crds: { keep: false } }],
    ['watchNamespace is deprecated', { watchNamespace: 'team-a' }],
    ['until something else installs the CRDs', { crds: { enabled: false } }],
    ['no lifecycle events are published', { nats: { enabled: false } }],
    ['kubectl get sandboxsnapshots -A', withHibernation],
  ])('warns or says where to look: %s', async (text, values) => {
    expect(await renderNotes(values)).toContain(text);
    expect(await renderNotes()).not.toContain(text);
  });
});
