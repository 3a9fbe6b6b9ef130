import { secrets } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Logger } from '@sandlot/std';
import { issueCertificates } from './certificates/issue.ts';
import { renewCertificates } from './certificates/renew.ts';
import { makeEntries } from './material/material.ts';
import type { FoundSecret, Step } from './plan/plan.ts';
import type { WantedCertificate, WantedSecret } from './plan/wanted.ts';
import { ROTATE } from './rotate/read-rotation.ts';
import { rotateEntry } from './rotate/rotate.ts';
import type { Change } from './rotate/rotate.ts';

export interface ApplyDeps {
  readonly client: Pick<KubeClient, 'create' | 'mergePatch'>;
  readonly namespace: string;
  readonly nowMs: number;
  readonly log: Logger;
}

/**
 * Carries out one step. A create never replaces a Secret, and a patch is guarded by what was read. Throws when the API server
 * refuses; then the next pass reads again what there is.
 */
export async function apply(deps: ApplyDeps, step: Step): Promise<void> {
  switch (step.do) {
    case 'create': {
      const occasion = { secret: step.secret.name, nowMs: deps.nowMs };
      const made = Object.entries(step.secret.entries).map(([name, recipe]) => makeEntries(name, recipe, occasion));
      return create(deps, { ...step.secret, type: 'Opaque', entries: merge(made) });
    }
    case 'complete': {
      const { secret, found, missing } = step;
      const made = missing.flatMap((name) => {
        const recipe = secret.entries[name];
        return recipe === undefined ? [] : [makeEntries(name, recipe, { secret: secret.name, nowMs: deps.nowMs })];
      });
      return patch(deps, { name: secret.name, found, change: merge(made), asked: undefined });
    }
    case 'rotate': {
      const { secret, found } = step;
      const change = rotateEntry(step, found.entries);
      return patch(deps, { name: secret.name, found, change, asked: `${step.entry} ${step.phase}` });
    }
    case 'issue':
      return issue(deps, step);
    case 'renew':
      return renew(deps, step);
  }
}

function merge(parts: readonly Readonly<Record<string, string>>[]): Readonly<Record<string, string>> {
  return Object.assign({}, ...parts) as Record<string, string>;
}

async function issue(deps: ApplyDeps, { authority, found }: Extract<Step, { do: 'issue' }>): Promise<void> {
  const issued = issueCertificates(authority.name, authority.certificates, deps.nowMs);
  for (const [at, wanted] of authority.certificates.entries()) {
    const { ca = '', crt = '', key = '' } = issued[at] ?? {};
    const entries = { 'ca.crt': ca, 'tls.crt': crt, 'tls.key': key };
    const present = found[at];
    if (present === undefined) await create(deps, { ...wanted, type: 'kubernetes.io/tls', entries });
    else await patch(deps, { name: wanted.name, found: present, change: entries, asked: undefined });
  }
}

async function renew(deps: ApplyDeps, { authority, found, phase }: Extract<Step, { do: 'renew' }>): Promise<void> {
  const changes = renewCertificates(authority, found, { phase, nowMs: deps.nowMs });
  for (const [at, { name }] of authority.certificates.entries()) {
    const [present, change] = [found[at], changes[at]];
    if (present === undefined || change === undefined) continue;
    await patch(deps, { name, found: present, change, asked: `tls.crt ${phase}` });
  }
}

type Made = Pick<WantedSecret | WantedCertificate, 'name' | 'labels'> & {
  readonly type: string;
  readonly entries: Readonly<Record<string, string>>;
};

/** Without an owner: the Secret outlives the release. */
async function create({ client, namespace, log }: ApplyDeps, { name, labels, type, entries }: Made): Promise<void> {
  await client.create(secrets, { metadata: { namespace, name, labels }, type, data: encode(entries) });
  log.info({ object: name, entries: Object.keys(entries) }, 'made the Secret');
}

interface Patch {
  readonly name: string;
  readonly found: FoundSecret;
  readonly change: Change;
  /** The stage that this carries out, as an annotation asks for it. */
  readonly asked: string | undefined;
}

async function patch({ client, namespace, log }: ApplyDeps, { name, found, change, asked }: Patch): Promise<void> {
  const isAsked = asked !== undefined && found.rotate?.trim().replaceAll(/\s+/g, ' ') === asked;
  if (Object.keys(change).length === 0 && !isAsked) return;
  const metadata = { resourceVersion: found.resourceVersion, ...(isAsked ? { annotations: { [ROTATE]: null } } : {}) };
  await client.mergePatch(secrets, { namespace, name }, { metadata, data: encode(change) });
  log.info({ object: name, entries: Object.keys(change), stage: asked }, 'changed the Secret');
}

function encode<T extends Change>(entries: T): Record<keyof T & string, string> {
  const encoded = Object.entries(entries).map(([name, text]) => [
    name,
    text === null ? null : Buffer.from(text).toString('base64'),
  ]);
  return Object.fromEntries(encoded) as Record<keyof T & string, string>;
}
