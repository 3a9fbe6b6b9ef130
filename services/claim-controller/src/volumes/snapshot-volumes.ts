import type { PersistentVolume } from '@sandlot/kube';

/** What the API server answered for the PersistentVolumes that a claim names, by name. */
export type ReadVolumes = ReadonlyMap<string, PersistentVolume | 'absent' | 'forbidden'>;
