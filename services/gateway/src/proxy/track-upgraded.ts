import type { Counters } from './concurrency-limit.ts';
import type { Target } from '../decide.ts';
import type { Ends } from './transfer.ts';
import type { Ongoing, Upstream } from './upstreams.ts';

/** Where an upgraded connection is counted. Each of thousands refers to this, and to nothing larger. */
export interface Place {
  readonly upstream: Upstream;
  readonly keyId: string | undefined;
  readonly perSandbox: Counters;
  readonly perKey: Counters;
  readonly ended: (target: Target) => void;
  readonly onUpgrade: (change: 1 | -1) => void;
}

/** Keeps the place that a call had taken, for its upgraded connection, until that closes or its sandbox goes away. */
export function hold(place: Place, [client, sandbox]: Ends): void {
  const { upstream, keyId, perSandbox, perKey, ended, onUpgrade } = place;
  const ongoing: Ongoing = {
    end() {
      client.destroy();
      sandbox.destroy();
    },
  };
  upstream.ongoing.add(ongoing);
  onUpgrade(1);
  client.once('close', () => {
    upstream.ongoing.delete(ongoing);
    perSandbox.leave(upstream.target.uid);
    if (keyId !== undefined) perKey.leave(keyId);
    ended(upstream.target);
    onUpgrade(-1);
  });
}
