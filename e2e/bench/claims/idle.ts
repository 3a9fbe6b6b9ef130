import { sandboxes } from '@sandlot/api-types';
import { buildTemplateObject } from './objects.ts';
import { findPlace, listEverywhere } from './places.ts';
import { pause, runInParallel } from './shapes.ts';
import type { Stage } from './stage.ts';

/** How often the number of Ready Sandboxes is read. */
const LOOK_MS = 15_000;

/** Which Sandboxes to make: `idle-<from>` to `idle-<to - 1>`. */
export interface IdleRange {
  readonly from: number;
  readonly to: number;
}

/** Creates Sandboxes without claims, and waits until all of them run, with those of earlier ranges. */
export async function makeIdle(stage: Stage, { from, to }: IdleRange, say: (text: string) => void): Promise<void> {
  if (to === from) return;
  const { client, places } = stage;
  const { spec } = buildTemplateObject();
  await runInParallel(to - from, async (index) => {
    const name = `idle-${from + index}`;
    await client.create(sandboxes, { metadata: { namespace: findPlace(places, name), name }, spec });
  });
  for (let ready = from; ready < to; ready = await countReady(stage)) {
    say(`${ready} of ${to} idle sandboxes are Ready`);
    await pause(LOOK_MS);
  }
}

async function countReady(stage: Stage): Promise<number> {
  const all = await listEverywhere(stage, sandboxes);
  return all.filter(({ metadata, status }) => metadata.name?.startsWith('idle-') && status?.phase === 'Running').length;
}
