import { formatStock, listTouched, makeLiving } from '../agent-sandbox/stock.ts';
import type { Living } from '../agent-sandbox/stock.ts';
import { formatPoolManifest } from '../manifests.ts';
import { waitForFullPool } from '../sandboxes.ts';
import { TENANT } from '../sdk/objects.ts';
import type { Team } from '../team.ts';
import { EMPTY_POOL, startClaims } from './claims.ts';
import type { ClaimLoad, ColdBy, Served } from './claims.ts';
import { countEvents } from './events.ts';
import { endLife, listChanges, reconnect, startLife } from './lives.ts';
import type { Life } from './lives.ts';
import { watchRefusals } from './refusals.ts';
import type { Running } from './repeat.ts';
import type { Report } from './report.ts';
import { startExecs, startWakes } from './requests.ts';
import { Tally } from './tally.ts';

const STEADY = 2;

/** What there is before the load. */
interface Begun {
  readonly lives: readonly Life[];
  readonly living: Living;
  readonly coldBy: ColdBy;
}

/** A steady load of claims, execs and wakes, with sandboxes that live through all of it and show whether they were touched. */
export class Load implements AsyncDisposable {
  readonly #team: Team;
  readonly #refusals = watchRefusals();
  readonly #tallies = { claims: new Tally(), execs: new Tally(), pauses: new Tally(), wakes: new Tally() };
  #lives: readonly Life[];
  readonly #living: Living;
  readonly #claims: ClaimLoad;
  #requests: readonly Running[] = [];

  private constructor(team: Team, { lives, living, coldBy }: Begun) {
    this.#team = team;
    this.#lives = lives;
    this.#living = living;
    this.#claims = startClaims(team, this.#tallies.claims, coldBy);
    this.startRequests();
  }

  /** Makes a template and a pool for the claims, and sandboxes that live, before it begins. */
  static async start(team: Team, coldBy: ColdBy = 'template'): Promise<Load> {
    await team.apply(formatStock());
    await team.apply(formatPoolManifest(EMPTY_POOL, 'box', 0));
    await waitForFullPool(team, 'boxes');
    await waitForFullPool({ ...team, namespace: TENANT }, 'base');
    const lives: Life[] = [];
    for (let index = 0; index < STEADY; index += 1) lives.push(await startLife(team.client));
    lives.push(await startLife(team.client, true));
    return new Load(team, { lives, living: await makeLiving(team, 'sandlot'), coldBy });
  }

  /** The sandboxes of the API that live through the load. */
  get lives(): readonly Life[] {
    return this.#lives;
  }

  /** The Sandboxes of the team that live through the load, of which some sleep. */
  get living(): Living {
    return this.#living;
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

  /** Replaces the sandbox under wakes by a new one, where another controller has dropped what keeps its memory. */
  async renewWoken(): Promise<void> {
    const isKept = ({ isWoken }: Life): boolean => !isWoken;
    await Promise.all(this.#lives.filter((life) => !isKept(life)).map(endLife));
    this.#lives = [...this.#lives.filter(isKept), await startLife(this.#team.client, true)];
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

  /** The claims that became Ready. */
  get served(): readonly Served[] {
    return this.#claims.served;
  }

  /** Ends the load, and counts; the events of those claims alone for which `hasEvents` is true. */
  async finish(hasEvents: (served: Served) => boolean = () => true): Promise<Report> {
    await Promise.all([this.stopRequests(), this.#claims.stop()]);
    const { claims, execs, pauses, wakes } = this.#tallies;
    return {
      calls: { claims: claims.read(), execs: execs.read(), pauses: pauses.read(), wakes: wakes.read() },
      sandboxes: this.#lives.length + this.#living.claims.size + this.#living.suspended.length * 2,
      refusals: this.#refusals.list(),
      touched: await this.listTouched().catch((error: unknown) => [String(error)]),
      events: await countEvents(this.#team, this.served.filter(hasEvents)),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([this.stopRequests(), this.#claims.stop()]);
    await Promise.allSettled(this.#lives.map(endLife));
    this.#refusals.stop();
  }
}
