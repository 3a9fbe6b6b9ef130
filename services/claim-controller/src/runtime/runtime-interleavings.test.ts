import { sandboxClaims, sandboxes, sandboxTemplates } from '@sandlot/api-types';
import { envdAccessToken } from '@sandlot/tenancy';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { happening, Run, troubles } from '../../test/happenings.ts';
import type { Happening } from '../../test/happenings.ts';
import { ClaimWorld } from '../../test/harness.ts';
import { Daemons } from '../../test/daemons.ts';

const CLAIMS = 5;
const ADDRESS = '127.0.2.1';
const key = (name: string) => ({ namespace: 'default', name });

/** What must never be: a claim that is shown Ready whose daemon does not know it, or knows another one. */
class Witness {
  readonly fouls: string[] = [];
  readonly #world: ClaimWorld;
  readonly #daemons: Daemons;

  constructor(world: ClaimWorld, daemons: Daemons) {
    this.#world = world;
    this.#daemons = daemons;
    world.api.onChange(sandboxClaims, ({ name }) => this.#check(name));
  }

  #check(name: string): void {
    const claim = this.#world.api.object(sandboxClaims, key(name));
    if (claim === undefined || !this.#world.isReady(name)) return;
    const shown = this.#world.sandbox(claim.status?.sandbox?.name ?? '')?.metadata.uid;
    const { uid = '' } = claim.metadata;
    const told = this.#daemons.told.filter(({ sandboxUid }) => sandboxUid === shown);
    if (told.length === 0) this.fouls.push(`${name} is Ready, and its daemon knows nothing`);
    const token = envdAccessToken(this.#daemons.tokenKey, uid);
    if (told.some((one) => one.claim !== uid || one.accessToken !== token || one.envVars['OF'] !== name)) {
      this.fouls.push(`the daemon of ${name} knows another claim`);
    }
  }
}

const claimName = fc.nat(CLAIMS - 1).map((index) => `c${index}`);
const create = claimName.map((name): Happening => ({ world, wanted }) => {
  if (wanted.has(name) || world.sandbox(name) !== undefined) return;
  world.claim(name, { envs: [{ name: 'OF', value: name }] });
  wanted.add(name);
});
const remove = claimName.map((name): Happening => ({ world, wanted }) => {
  if (wanted.delete(name)) world.api.remove(sandboxClaims, key(name));
});

it('shows no claim Ready whose daemon was not told, whatever happens in between', async () => {
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
      await using world = await ClaimWorld.start({ members: 0 });
      daemons.told.length = 0;
      daemons.answer = () => 204;
      daemons.crowd = () => world.api.objects(sandboxes).map(({ metadata }) => metadata.uid ?? '');
      world.address = ADDRESS;
      world.runtime = daemons.access(world.clock);
      world.api.change(sandboxTemplates, key('template'), ({ spec }) => {
        Object.assign(spec, { runtime: { inject: true }, envVarsInjectionPolicy: 'Allowed' });
      });
      for (let member = 0; member < members; member += 1) world.addMember();
      world.makeAllReady();
      const witness = new Witness(world, daemons);
      const run = new Run(world);
      for (const happen of happenings) await happen(run);
      world.api.faults.clear();
      daemons.answer = () => 204;
      await run.ensureController();
      await world.eventually(() => {
        for (const name of run.wanted) expect(world.isReady(name), name).toBe(true);
      });
      expect(witness.fouls).toEqual([]);
    }),
    { numRuns: 25, interruptAfterTimeLimit: 8_000 },
  );
}, 20_000);
