import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter, Gauge } from 'prom-client';

const RESULTS = ['deleted', 'refused'] as const;
const STATES = ['kept', 'waiting'] as const;

interface Counts {
  readonly kept: number;
  readonly waiting: number;
}

/** What became of images that builds pushed. Only the leader looks at them. */
export interface ImageMetrics {
  onDeleted(): void;
  onRefused(): void;
  onBlocked(): void;
  /** `atSeconds` is a time in seconds since the epoch. */
  onPass(namespaces: readonly Counts[], atSeconds: number): void;
}

export function createImageMetrics(registry: MetricsRegistry): ImageMetrics {
  const registers = [registry];
  const ended = new Counter({
    name: 'sandlot_template_images_total',
    help: 'Images of builds that nothing needed any more, by whether the registry deleted them or refused to.',
    labelNames: ['result'],
    registers,
  });
  const images = new Gauge({
    name: 'sandlot_template_images',
    help: 'Images of builds in the registry at the last look: kept, or waiting for the end of builds.images.graceSeconds. The leader says it.',
    labelNames: ['state'],
    registers,
  });
  const last = new Gauge({
    name: 'sandlot_template_images_checked_timestamp_seconds',
    help: 'When the leader last looked at all images of builds. 0: not since this process began.',
    registers,
  });
  const blocked = new Gauge({
    name: 'sandlot_template_images_blocked',
    help: '1 while no image is deleted because the record of images is missing, or names a namespace that is not served.',
    registers,
  });
  for (const result of RESULTS) ended.inc({ result }, 0);
  for (const state of STATES) images.set({ state }, 0);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    onDeleted: () => ended.inc({ result: 'deleted' }),
    onRefused: () => ended.inc({ result: 'refused' }),
    onBlocked: () => blocked.set(1),
    onPass: (namespaces, atSeconds) => {
      images.set({ state: 'kept' }, sum(namespaces.map(({ kept }) => kept)));
      images.set({ state: 'waiting' }, sum(namespaces.map(({ waiting }) => waiting)));
      last.set(atSeconds);
      blocked.set(0);
    },
  };
}
