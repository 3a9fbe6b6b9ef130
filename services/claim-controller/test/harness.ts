import { buildProxyRule, sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { RuntimeIdentity, Sandbox, SandboxClaim, SandboxStatus } from '@sandlot/api-types';
import { claim, pool, template } from '@sandlot/api-types/testing';
import { buildMemberSandbox, POD_DEFAULTS } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import { events, networkPolicies } from '@sandlot/kube';
import type { ActiveFault, RequestMatch } from '@sandlot/kube-testkit';
import { ControllerHarness, secureTemplates, startTestEnvironment } from '@sandlot/service-testkit';
import type { TestController } from '@sandlot/service-testkit';
import { addClaimController } from '../src/controller.ts';
import type { EgressRulesPolicy } from '../src/plan/snapshot.ts';
import type { RuntimeAccess } from '../src/runtime/runtime-inits.ts';

/** W1, W2 and the annotations, as requests. */
export const COMMIT: RequestMatch = { verb: 'patch', resource: 'sandboxes' };
export const PUBLISH: RequestMatch = { verb: 'patch', resource: 'sandboxclaims', subresource: 'status' };
export const BOOKKEEPING: RequestMatch = { verb: 'patch', resource: 'sandboxclaims', subresource: '' };

/** The rule of an installation with an egress proxy. */
export const PROXY_RULE = buildProxyRule({ namespace: 'sandlot-system', podLabels: { app: 'egress' }, ports: [443] });

type ClaimSpec = Partial<SandboxClaim['spec']>;

interface ControllerChoices {
  readonly envsFromSecrets?: boolean;
  readonly envsNamespace?: string;
  readonly egressRules?: EgressRulesPolicy;
  readonly persistentVolumes?: boolean;
  readonly recordsEvents?: boolean;
  readonly runtime?: RuntimeAccess;
}

/** Claim-controllers with a fake API server, bus and clock. */
export class ClaimHarness extends ControllerHarness {
  /** Access to the daemons for controllers started from now on. Default: none. */
  runtime: RuntimeAccess | undefined;
  /** Default address of pods. */
  address = '10.0.0.1';
  /** Defaults of controllers started, and members added, from now on. */
  podDefaults: PodDefaults = POD_DEFAULTS;
  #members = 0;

  /**
   * Starts with template `template` and pool `pool` with so many warm members; without both when `members` is absent.
   * Templates have their NetworkPolicies unless `secured` is false.
   */
  static async start({ members, secured = true }: { members?: number; secured?: boolean } = {}): Promise<ClaimHarness> {
    const resources = [sandboxes, sandboxClaims, sandboxTemplates, sandboxWarmPools, networkPolicies];
    const harness = new ClaimHarness(await startTestEnvironment(resources));
    if (secured) secureTemplates(harness.api);
    if (members === undefined) return harness;
    harness.api.seed(sandboxTemplates, template());
    harness.api.seed(sandboxWarmPools, pool());
    for (let index = 0; index < members; index += 1) harness.addMember();
    return harness;
  }

  startController(
    user = 'claim-controller',
    {
      envsFromSecrets = false,
      envsNamespace,
      egressRules = { isAvailable: true, allowsSecrets: true },
      persistentVolumes = false,
      recordsEvents = true,
      runtime,
    }: ControllerChoices = {},
  ): TestController {
    return this.run(user, (parts) =>
      addClaimController(parts, {
        concurrency: 8,
        namespaces: undefined,
        writeBehindMs: 250,
        recordsEvents,
        runtime: runtime ?? this.runtime,
        policy: {
          allowedLabelDomains: ['sandbox.users.io'],
          envsFromSecrets,
          envsNamespace,
          egressRules,
          persistentVolumes,
          podDefaults: this.podDefaults,
          proxyRule: this.podDefaults.egressMode === undefined ? undefined : PROXY_RULE,
        },
      }),
    );
  }

  /** Resolves when the controllers have opened all their watches. */
  async watching(controllers = 1): Promise<void> {
    await this.eventually(() => {
      const open = this.api.faults.openWatches();
      if (open < 5 * controllers) throw new Error(`${open} watches are open`);
    });
    await this.elapse(20);
  }

  /** Adds a member of the pool, by default Ready with an address. */
  addMember({ addressed = true, address = this.address }: { addressed?: boolean; address?: string } = {}): string {
    this.#members += 1;
    const [thePool] = this.api.objects(sandboxWarmPools);
    const [theTemplate] = this.api.objects(sandboxTemplates);
    if (thePool === undefined || theTemplate === undefined) throw new Error('there is no pool to add a member to');
    const suffix = `m${String(this.#members).padStart(3, '0')}`;
    const made = buildMemberSandbox({ pool: thePool, template: theTemplate, defaults: this.podDefaults, suffix });
    this.api.seed(sandboxes, addressed ? { ...made, status: readyStatus({ address }) } : made);
    return made.metadata.name ?? '';
  }

  /** The sandbox-controller: the Sandbox is Ready with an address. */
  makeReady(name: string, how: ReadyHow = {}): void {
    this.api.change(
      sandboxes,
      { namespace: 'default', name },
      (sandbox) => void (sandbox.status = readyStatus({ address: this.address, ...how })),
    );
  }

  /** The sandbox-controller: the pod is gone, or not Ready. */
  makeUnready(name: string): void {
    this.api.change(sandboxes, { namespace: 'default', name }, ({ status }) => {
      for (const condition of status?.conditions ?? [])
        Object.assign(condition, { status: 'False', reason: 'SandboxSuspended' });
    });
  }

  /** From now on every Sandbox becomes Ready as soon as it exists. */
  makeAllReady(): void {
    this.api.onChange(sandboxes, (key) => {
      if (this.api.object(sandboxes, key)?.status === undefined) this.makeReady(key.name);
    });
  }

  claim(name: string, spec: ClaimSpec = {}, annotations: Record<string, string> = {}): void {
    this.api.seed(sandboxClaims, { ...claim({ spec }), metadata: { namespace: 'default', name, annotations } });
  }

  claims(count: number): string[] {
    const names = Array.from({ length: count }, (_, index) => `c${String(index).padStart(3, '0')}`);
    for (const name of names) this.claim(name);
    return names;
  }

  getStatus(name: string): NonNullable<SandboxClaim['status']> {
    return this.api.object(sandboxClaims, { namespace: 'default', name })?.status ?? {};
  }

  /** `reason` of the claim's Ready condition. */
  findReason(name: string): string | undefined {
    return this.getStatus(name).conditions?.find(({ type }) => type === 'Ready')?.reason;
  }

  isReady(name: string): boolean {
    return this.getStatus(name).conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  }

  getAnnotations(name: string): Record<string, string> {
    return this.api.object(sandboxClaims, { namespace: 'default', name })?.metadata.annotations ?? {};
  }

  sandbox(name: string): Sandbox | undefined {
    return this.api.object(sandboxes, { namespace: 'default', name });
  }

  /** Names of the Sandboxes that claims control, by claim. */
  owned(): Map<string, string[]> {
    const byClaim = new Map<string, string[]>();
    for (const { metadata } of this.api.objects(sandboxes)) {
      for (const { kind, name } of metadata.ownerReferences ?? []) {
        if (kind === 'SandboxClaim') byClaim.set(name, [...(byClaim.get(name) ?? []), metadata.name ?? '']);
      }
    }
    return byClaim;
  }

  /** Names of the Sandboxes in slots of a detached claim, by slot; several for a slot that was filled twice. */
  slots(claimName: string): Map<number, string[]> {
    const bySlot = new Map<number, string[]>();
    for (const { metadata } of this.api.objects(sandboxes)) {
      const marks = metadata.labels ?? {};
      if (marks['sandlot.dev/claim-name'] !== claimName) continue;
      const slot = Number(marks['sandlot.dev/claim-slot']);
      bySlot.set(slot, [...(bySlot.get(slot) ?? []), metadata.name ?? '']);
    }
    return bySlot;
  }

  /** Reasons of the Events written so far, with the name of what they are about. */
  eventReasons(): string[] {
    return this.api.objects(events).map(({ reason, regarding }) => `${regarding.name ?? ''} ${reason}`);
  }

  /** Writes of annotations fail until the fault ends; nothing else does. */
  failBookkeeping(): ActiveFault {
    return this.api.faults.failAfterWrites(0, { match: BOOKKEEPING, answer: { status: 500 } });
  }
}

interface ReadyHow {
  readonly address?: string | undefined;
  /** Since when. */
  readonly since?: string;
  /** By what the daemon is recognised. */
  readonly identity?: RuntimeIdentity;
}

export function readyStatus({ address = '', since = '2026-01-01T12:00:00Z', identity }: ReadyHow): SandboxStatus {
  const lastTransitionTime = since;
  const ready = { type: 'Ready', status: 'True', reason: 'DependenciesReady', message: 'Pod is Ready' } as const;
  const runtime = identity === undefined ? {} : { runtime: { ready: true, identity } };
  return { conditions: [{ ...ready, lastTransitionTime }], podIPs: [address], nodeName: 'node-1', ...runtime };
}
