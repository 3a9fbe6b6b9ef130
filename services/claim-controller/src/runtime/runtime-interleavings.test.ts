import { sandboxClaims, sandboxes, sandboxTemplates } from '@sandlot/api-types';
import { deriveEnvdAccessToken } from '@sandlot/tenancy';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { happening, Run, troubles } from '../../test/happenings.ts';
import type { Happening } from '../../test/happenings.ts';
import { ClaimHarness } from '../../test/harness.ts';
import { Daemons } from '../../test/daemons.ts';

const CLAIMS = 5;
const ADDRESS = '127.0.2.1';
const key = (name: string) => ({ namespace: 'default', name });

/** Watches for claims that are shown Ready while their daemon is not initialised, or is initialised for another claim. */
class Witness {
  readonly fouls: string[] = [];
  readonly #harness: ClaimHarness;
  readonly #daemons: Daemons;

  constructor(harness: ClaimHarness, daemons: Daemons) {
    this.#harness = harness;
    this.#daemons = daemons;
    harness.api.onChange(sandboxClaims, ({ name }) => this.#check(name));
  }

  #check(name: string): void {
    const claim = this.#harness.api.object(sandboxClaims, key(name));
    if (claim === undefined || !this.#harness.isReady(name)) return;
    const shown = this.#harness.sandbox(claim.status?.sandbox?.name ?? '')?.metadata.uid;
    const { uid = '' } = claim.metadata;
    const accepted = this.#daemons.accepted.filter(({ sandboxUid }) => sandboxUid === shown);
    if (accepted.length === 0) this.fouls.push(`${name} is Ready, and its daemon knows nothing`);
    const token = deriveEnvdAccessToken(this.#daemons.tokenKey, uid);
    if (accepted.some((one) => one.claim !== uid || one.accessToken !== token || one.envVars['OF'] !== name)) {
      this.fouls.push(`the daemon of ${name} knows another claim`);
    }
  }
}

const claimName = fc.nat(CLAIMS - 1).map((index) => `c${index}`);
const create = claimName.map((name): Happening => ({ harness, wanted }) => {
  if (wanted.has(name) || harness.sandbox(name) !== undefined) return;
  harness.claim(name, { envs: [{ name: 'OF', value: name }] });
  wanted.add(name);
});
const remove = claimName.map((name): Happening => ({ harness, wanted }) => {
  if (wanted.delete(name)) harness.api.remove(sandboxClaims, key(name));
});

it('shows no claim Ready whose daemon is not initialised, under random faults', async () => {
  await using daemons = await Daemons.start([ADDRESS]);
  const silence = fc.boolean().map((silent) =>
    happening(`daemons ${silent ? 'refuse' : 'answer'}`, () => {
      daemons.answer = () => (silent ? 503 : 204);
    }),
  );
  const any = fc.oneof(
    { arbitrary: create, weight: 6 },
    { arbitrary: remove, weight: 1 },
    { arbitrary: silence, weight: 2 },
    ...troubles,
  );
  await fc.assert(
    fc.asyncProperty(fc.nat(4), fc.array(any, { minLength: 5, maxLength: 20 }), async (members, happenings) => {
      await using harness = await ClaimHarness.start({ members: 0 });
      daemons.accepted.length = 0;
      daemons.answer = () => 204;
      daemons.crowd = () => harness.api.objects(sandboxes).map(({ metadata }) => metadata.uid ?? '');
      harness.address = ADDRESS;
      harness.runtime = daemons.access(harness.clock);
      harness.api.change(sandboxTemplates, key('template'), ({ spec }) => {
        Object.assign(spec, { runtime: { inject: true }, envVarsInjectionPolicy: 'Allowed' });
      });
      for (let member = 0; member < members; member += 1) harness.addMember();
      harness.makeAllReady();
      const witness = new Witness(harness, daemons);
      const run = new Run(harness);
      for (const happen of happenings) await happen(run);
      harness.api.faults.clear();
      daemons.answer = () => 204;
      await run.ensureController();
      await harness.eventually(() => {
        for (const name of run.wanted) expect(harness.isReady(name), name).toBe(true);
      });
      expect(witness.fouls).toEqual([]);
    }),
    { numRuns: 25, interruptAfterTimeLimit: 8_000 },
  );
}, 20_000);
