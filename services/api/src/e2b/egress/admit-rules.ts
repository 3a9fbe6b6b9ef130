import type { Clock } from '@sandlot/std';
import type { SandboxClaim } from '@sandlot/api-types';
import { badRequest } from '../../errors/api-error.ts';
import type { ApiError } from '../../errors/api-error.ts';
import { notPossible } from '../../errors/refusals.ts';
import { storeRules } from '../../vault/stored-headers.ts';
import type { StoredRules } from '../../vault/stored-headers.ts';
import { Vault } from '../../vault/vault.ts';
import type { VaultOptions } from '../../vault/vault.ts';
import { listRuleSecrets } from '../request/header-rules.ts';
import type { GivenRule } from '../request/header-rules.ts';

export interface RuleDeps extends Omit<VaultOptions, 'vaultNamespace'> {
  /** Undefined: the installation has no vault. */
  readonly vaultNamespace: string | undefined;
  readonly clock: Pick<Clock, 'now'>;
}

/** A template, or a Sandbox made from it. */
export interface RuntimeHolder {
  readonly spec: { readonly runtime?: { readonly inject?: boolean | undefined } | undefined };
}

/** The sandbox that is to have rules. */
export interface RuleHolder {
  readonly namespace: string;
  readonly templateName: string;
  /** Undefined: it is not there yet, and the claim will say so. */
  readonly made: RuntimeHolder | undefined;
  readonly skipsInit: boolean;
}

export const NO_STORED_RULES: StoredRules = { rules: [], values: {} };

/** 400: without a vault there is no place for the values. */
export function rulesNotAvailable(): ApiError {
  return notPossible('network.rules is not available in this installation');
}

/**
 * Checks that a sandbox can have these rules, and gives their values keys. Nothing is stored yet. Throws an ApiError 400, and
 * rejects with a KubeError.
 */
export async function admitRules(
  deps: RuleDeps,
  rules: readonly GivenRule[],
  holder: RuleHolder,
): Promise<StoredRules> {
  const { vaultNamespace, clock } = deps;
  if (rules.length === 0) return NO_STORED_RULES;
  if (vaultNamespace === undefined) throw rulesNotAvailable();
  assertProof(holder);
  const vault = new Vault({ ...deps, vaultNamespace }, holder.namespace);
  const [missing] = await vault.listMissing(listRuleSecrets(rules));
  if (missing !== undefined) throw badRequest(`network.rules: there is no secret ${JSON.stringify(missing)}`);
  return storeRules(rules, clock.now());
}

/** Values go out only for connections that the daemon of the sandbox has proved to be its own. */
function assertProof({ templateName, made, skipsInit }: RuleHolder): void {
  if (skipsInit) throw badRequest('network.rules need the runtime that skip-init-runtime leaves out');
  if (made === undefined || made.spec.runtime?.inject === true) return;
  throw notPossible(`network.rules: template "${templateName}" has no runtime to prove who calls`);
}

/** Whether the claim was made without an init of its daemon. */
export function skipsInit({ spec }: SandboxClaim): boolean {
  return spec.skipInitRuntime === true;
}
