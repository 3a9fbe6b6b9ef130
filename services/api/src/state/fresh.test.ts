import type { SandboxClaim } from '@sandlot/api-types';
import { keyOf, KubeError } from '@sandlot/kube';
import type { ChangeHandler, Store } from '@sandlot/kube';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { Fresh, KEPT_MS } from './fresh.ts';

const KEY = 'team/box';

function claim(resourceVersion: string, uid = 'u'): SandboxClaim {
  return { metadata: { namespace: 'team', name: 'box', uid, resourceVersion }, spec: {} };
}

/** What a watch shows, one object at a time. */
class Shown {
  readonly #objects = new Map<string, SandboxClaim>();
  #changed: ChangeHandler<SandboxClaim> = () => undefined;
  #listed: () => void = () => undefined;

  readonly store: Store<SandboxClaim> = {
    get: (key) => this.#objects.get(key),
    byIndex: () => this.#objects.values(),
    countIndex: () => this.#objects.size,
    values: () => this.#objects.values(),
    size: 0,
  };

  onChange(handler: ChangeHandler<SandboxClaim>): Disposable {
    this.#changed = handler;
    return { [Symbol.dispose]: () => undefined };
  }

  onList(handler: () => void): Disposable {
    this.#listed = handler;
    return { [Symbol.dispose]: () => undefined };
  }

  shows(next: SandboxClaim | undefined): void {
    const old = this.#objects.get(KEY);
    if (next === undefined) this.#objects.delete(KEY);
    else this.#objects.set(keyOf(next), next);
    if (old !== next) this.#changed({ key: KEY, old, next, initial: false });
  }

  lists(next: SandboxClaim | undefined): void {
    this.shows(next);
    this.#listed();
  }
}

function setup(first?: SandboxClaim) {
  const clock = new FakeClock();
  const informer = new Shown();
  const doubted: string[] = [];
  const fresh = new Fresh<SandboxClaim>({ informer, clock, onDoubt: (key) => doubted.push(key) });
  if (first !== undefined) informer.shows(first);
  const version = (): string | undefined => fresh.get(KEY)?.metadata.resourceVersion;
  const answer = (resourceVersion: string) => () => Promise.resolve(claim(resourceVersion));
  return { clock, informer, doubted, fresh, version, answer };
}

const notFound = (): Promise<never> => {
  const call = { verb: 'get', resource: 'sandboxclaims', key: KEY } as const;
  return Promise.reject(new KubeError({ ...call, code: 'NotFound', message: 'no such claim', status: 404 }));
};

describe('what this process has written or read', () => {
  it('is found before the watch shows it, and not once it does', async () => {
    const { fresh, informer, version, answer } = setup(claim('1'));
    await fresh.write(KEY, answer('3'));
    expect(version()).toBe('3');
    informer.shows(claim('2'));
    expect(version()).toBe('3');
    informer.shows(claim('3'));
    informer.shows(claim('4'));
    expect(version()).toBe('4');
  });

  it('is nothing new when the watch was faster', async () => {
    const { fresh, informer, version } = setup(claim('1'));
    await fresh.write(KEY, () => {
      informer.shows(claim('2'));
      informer.shows(claim('3'));
      return Promise.resolve(claim('2'));
    });
    expect(version()).toBe('3');
  });

  it('is found while the watch still shows, changes and ends one that had the name before', async () => {
    const { fresh, informer, version } = setup(claim('1', 'former'));
    await fresh.write(KEY, () => Promise.resolve(claim('4')));
    expect(version()).toBe('4');
    for (const former of [claim('2', 'former'), undefined]) {
      informer.shows(former);
      expect(version()).toBe('4');
    }
    informer.shows(claim('4'));
    informer.shows(claim('5'));
    expect(version()).toBe('5');
  });

  it('is not hidden by the end of one that had the name before', async () => {
    const { fresh, informer, version } = setup(claim('1', 'former'));
    fresh.gone(claim('1', 'former'));
    await fresh.write(KEY, () => Promise.resolve(claim('3')));
    expect(version()).toBe('3');
    informer.shows(undefined);
    informer.shows(claim('3'));
    fresh.gone(claim('1', 'former'));
    expect(version()).toBe('3');
  });

  it('is gone when a read says so, while the watch still shows it', async () => {
    const { fresh, informer, version } = setup(claim('1'));
    fresh.gone(claim('1'));
    await expect(fresh.read(KEY, notFound)).rejects.toThrow('no such claim');
    expect(version()).toBeUndefined();
    informer.shows(claim('2'));
    expect(version()).toBeUndefined();
    informer.shows(undefined);
    informer.shows(claim('3', 'another'));
    expect(version()).toBe('3');
  });

  it('is there when the watch has shown it since a read found nothing', async () => {
    const { fresh, informer, version } = setup();
    const reading = fresh.read(KEY, () => {
      informer.shows(claim('1'));
      return notFound();
    });
    await expect(reading).rejects.toThrow('no such claim');
    expect(version()).toBe('1');
  });

  it('is not kept when the watch has shown its end meanwhile', async () => {
    const { fresh, informer, version } = setup(claim('1'));
    await fresh.read(KEY, () => {
      informer.shows(undefined);
      return Promise.resolve(claim('2'));
    });
    expect(version()).toBeUndefined();
  });

  it('is forgotten with the object, by the watch or by an answer', async () => {
    const { fresh, informer, version, answer } = setup();
    await fresh.write(KEY, answer('1'));
    expect(version()).toBe('1');
    await expect(fresh.read(KEY, notFound)).rejects.toThrow('no such claim');
    expect(version()).toBeUndefined();
    informer.shows(claim('2'));
    fresh.gone(claim('2'));
    expect(version()).toBeUndefined();
    informer.shows(undefined);
    informer.shows(claim('3', 'another'));
    expect(version()).toBe('3');
  });
});

describe('answers that cross', () => {
  it('the answer of a read that began before a write ended does not hide the write', async () => {
    const { fresh, version, answer } = setup(claim('1'));
    const slow = Promise.withResolvers<SandboxClaim>();
    const reading = fresh.read(KEY, () => slow.promise);
    await fresh.write(KEY, answer('3'));
    slow.resolve(claim('2'));
    await reading;
    expect(version()).toBe('3');
  });

  it('nor does a read that found nothing yet', async () => {
    const { fresh, version, answer } = setup();
    const slow = Promise.withResolvers<never>();
    const reading = fresh.read(KEY, () => slow.promise);
    await fresh.write(KEY, answer('1'));
    slow.reject(await notFound().catch((error: unknown) => error));
    await expect(reading).rejects.toThrow('no such claim');
    expect(version()).toBe('1');
  });

  it('a read that began afterwards does', async () => {
    const { fresh, version, answer } = setup(claim('1'));
    await fresh.write(KEY, answer('2'));
    await fresh.read(KEY, answer('4'));
    expect(version()).toBe('4');
  });

  it('a read that gives what the watch shows ends what was kept', async () => {
    const { fresh, informer, version, answer } = setup(claim('1'));
    await fresh.write(KEY, answer('2'));
    informer.lists(claim('5'));
    expect(version()).toBe('2');
    await fresh.read(KEY, answer('5'));
    expect(version()).toBe('5');
  });
});

describe('what the watch may never show', () => {
  it('is doubted after a list that shows another version, and not after one that shows this', async () => {
    const { fresh, informer, doubted, answer } = setup(claim('1'));
    await fresh.write(KEY, answer('2'));
    informer.lists(claim('2'));
    expect(doubted).toEqual([]);
    await fresh.write(KEY, answer('3'));
    informer.lists(claim('5'));
    expect(doubted).toEqual([KEY]);
  });

  it('is doubted after a list that does not have it, and found meanwhile', async () => {
    const { fresh, informer, doubted, version, answer } = setup();
    await fresh.write(KEY, answer('2'));
    informer.lists(undefined);
    expect([doubted, version()]).toEqual([[KEY], '2']);
  });

  it('is doubted when the watch has not shown it for five seconds', async () => {
    const { clock, fresh, doubted, version, answer } = setup(claim('1'));
    await fresh.write(KEY, answer('2'));
    await clock.advance(KEPT_MS / 2);
    await fresh.write('team/other', answer('2'));
    await clock.advance(KEPT_MS / 2);
    expect([doubted, version()]).toEqual([[KEY], '1']);
    await clock.advance(KEPT_MS / 2);
    expect(doubted).toEqual([KEY, 'team/other']);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it('keeps no timer when it is over', async () => {
    const { clock, fresh, version, answer } = setup();
    await fresh.write(KEY, answer('2'));
    fresh.close();
    expect(clock.nextTimerMs()).toBeUndefined();
    await fresh.write('team/other', answer('2'));
    expect([version(), clock.nextTimerMs()]).toEqual(['2', undefined]);
  });
});
