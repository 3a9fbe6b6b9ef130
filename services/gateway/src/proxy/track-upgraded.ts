import type { Target } from '../directory/target.ts';
import type { Holder, OpenExchanges } from './open-exchanges.ts';
import type { SocketPair } from './transfer.ts';
import type { ActiveExchange, Upstream } from './upstreams.ts';

/** Where an upgraded connection is counted. Thousands of connections refer to this, so it holds nothing large. */
export interface UpgradeContext {
  readonly upstream: Upstream;
  readonly holder: Holder;
  readonly openExchanges: OpenExchanges;
  readonly onEnd: (target: Target) => void;
  readonly onUpgrade: (change: 1 | -1) => void;
}

/** Keeps the places that an exchange took until its upgraded connection closes. The sandbox's end closes the connection. */
export function trackUpgraded(context: UpgradeContext, [client, sandbox]: SocketPair): void {
  const { upstream, holder, openExchanges, onEnd, onUpgrade } = context;
  const exchange: ActiveExchange = {
    end() {
      client.destroy();
      sandbox.destroy();
    },
  };
  upstream.active.add(exchange);
  onUpgrade(1);
  client.once('close', () => {
    upstream.active.delete(exchange);
    openExchanges.leave(holder);
    onEnd(upstream.target);
    onUpgrade(-1);
  });
}
