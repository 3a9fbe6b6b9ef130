import {
  createInformer,
  createKubeClient,
  createManager,
  done,
  isConflict,
  isNotFound,
  getKey,
  parseKey,
  pods,
  requeueAfter,
  watchSource,
} from '@sandlot/kube';
import type { Credentials } from '@sandlot/kube';
import { systemClock } from '@sandlot/std';
import type { Logger } from '@sandlot/std';

/** Deletes pods when the time in their annotation `example.com/expires-at` has come. Runs until the signal aborts. */
export async function expirePods(o: { credentials: Credentials; log: Logger; signal: AbortSignal }): Promise<void> {
  const client = createKubeClient({ credentials: o.credentials });
  const informer = createInformer({ client, resource: pods });
  const lease = { namespace: 'default', name: 'expire-pods', identity: `expire-pods-${process.pid}` };
  const manager = createManager({ client, log: o.log, lease });
  manager.add({
    name: 'expire-pods',
    concurrency: 4,
    sources: [watchSource(informer, (pod) => [getKey(pod)])],
    async reconcile(key, { signal }) {
      const pod = informer.store.get(key);
      const expiresAt = pod?.metadata.annotations?.['example.com/expires-at'];
      if (pod === undefined || expiresAt === undefined) return done;
      const restMs = Date.parse(expiresAt) - systemClock.now();
      if (restMs > 0) return requeueAfter(restMs, 'not expired');
      try {
        // Guarded: a pod that has come back under the same name is another pod.
        await client.delete(pods, parseKey(key), { uid: pod.metadata.uid, signal });
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
      return done;
    },
  });
  await manager.run(o.signal);
  await client.close();
}
