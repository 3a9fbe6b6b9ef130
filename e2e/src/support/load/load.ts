import { formatStock, listTouched, makeLiving } from '../agent-sandbox/stock.ts';
import type { Living } from '../agent-sandbox/stock.ts';
import { waitForFullPool } from '../sandboxes.ts';
import { TENANT } from '../sdk/objects.ts';
import type { Team } from '../team.ts';
import { startClaims } from './claims.ts';
import type { ClaimLoad } from './claims.ts';
import { countEvents } from './events.ts';
import { endLife, listChanges, reconnect, startLife } from './lives.ts';
import type { Life } from './lives.ts';
import { watchRefusals } from './refusals.ts';
import type { Running } from './repeat.ts';
import type { Report } from './report.ts';
import { startExecs, startWakes } from './requests.ts';
import { Tally } from './tally.ts';

const STEADY = 2;

/** A steady load of claims, execs and wakes, with sandboxes that live through all of it and show whether they were touched. */
export class Load implements AsyncDisposable {
  readonly #team: Team;
  readonly #refusals = watchRefusals();
  readonly #tallies = { claims: new Tally(), execs: new Tally(), pauses: new Tally(), wakes: new Tally() };
  #lives: readonly Life[];
  readonly #living: Living;
  readonly #claims: ClaimLoad;
  #requests: readonly Running[] = [];

  private constructor(team: Team, lives: readonly Life[], living: Living) {
    this.#team = team;
    this.#lives = lives;
    this.#living = living;
    this.#claims = startClaims(team, this.#tallies.claims);
    this.startRequests();
  }

  /** Makes a template and a pool for the claims, and sandboxes that live, before it begins. */
  static async start(team: Team): Promise<Load> {
    await team.apply(formatStock());
    await waitForFullPool(team, 'boxes');
    await waitForFullPool({ ...team, namespace: TENANT }, 'base');
    const lives: Life[] = [];
    for (let index = 0; index < STEADY; index += 1) lives.push(await startLife(team.client));
    lives.push(await startLife(team.client, true));
    return new Load(team, lives, await makeLiving(team, 'sandlot'));
  }

  /** The sandboxes of the API that live through the load. */
  get lives(): readonly Life[] {
    return this.#lives;
  }

  /** Begins execs and wakes. */
  startRequests(): void {
    const { execs, pauses, wakes } = this.#tallies;
    this.#requests = this.#lives.map(({ sandbox, isWoken }) =>
      isWoken ? startWakes(sandbox, { pauses, wakes }) : startExecs(sandbox, execs),
    );
  }

  /** Ends execs and wakes, and leaves claims going on. */
  async stopRequests(): Promise<void> {
    await Promise.all(this.#requests.map((each) => each.stop()));
    this.#requests = [];
  }

  /** Lets the clients find the gateway at a new address. */
  async reconnect(): Promise<void> {
    this.#lives = await Promise.all(this.#lives.map(reconnect));
  }

  /** The sandboxes that something else than the load touched, one text for each difference. */
  async listTouched(): Promise<readonly string[]> {
    const changes = await Promise.all(this.#lives.map((life) => listChanges(this.#team.client, life)));
    return [...changes.flat(), ...(await this.listTouchedPods())];
  }

  /** The same for those that need no gateway to be asked. */
  listTouchedPods(): Promise<readonly string[]> {
    return listTouched(this.#team, this.#living);
  }

  /** Ends the load, and counts. */
  async finish(): Promise<Report> {
    await Promise.all([this.stopRequests(), this.#claims.stop()]);
    const { claims, execs, pauses, wakes } = this.#tallies;
    return {
      calls: { claims: claims.read(), execs: execs.read(), pauses: pauses.read(), wakes: wakes.read() },
      sandboxes: this.#lives.length + this.#living.claims.size + this.#living.suspended.length * 2,
      refusals: this.#refusals.list(),
      touched: await this.listTouched().catch((error: unknown) => [String(error)]),
      events: await countEvents(this.#team, this.#claims.served),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([this.stopRequests(), this.#claims.stop()]);
    await Promise.allSettled(this.#lives.map(endLife));
    this.#refusals.stop();
  }
}
