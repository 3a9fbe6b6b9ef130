import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rest } from './wait.ts';

const MEBIBYTE = 1024 ** 2;

/**
 * Writes and removes as much as a save writes. A virtual machine may give free memory back to its host, and then gets it more
 * slowly than a save writes, so what is compared begins with memory that was in use a moment ago.
 */
export async function useMemory(folder: string, mebibytes: number): Promise<void> {
  const path = join(folder, 'used');
  const text = Buffer.alloc(MEBIBYTE);
  const file = await open(path, 'w');
  try {
    for (let written = 0; written < mebibytes; written += 1) await file.write(text);
  } finally {
    await file.close();
    await rm(path);
  }
}

/** Comes right before each measurement, also of the floors: all begin on an idle machine, with memory that was just in use. */
export async function settle(mebibytes: number): Promise<void> {
  await rest();
  await useMemory(tmpdir(), mebibytes);
}
