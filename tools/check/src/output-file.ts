import { closeSync, fstatSync, openSync, readSync, rmSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A file without a name that collects what a command writes to both of its outputs. Unlike a pipe, it does not wait for a
 * process that the command left behind.
 */
export class OutputFile {
  /** Both outputs of the command. */
  readonly descriptor: number;

  constructor() {
    const path = join(tmpdir(), `sandlot-check-${randomUUID()}.txt`);
    this.descriptor = openSync(path, 'w+');
    rmSync(path);
  }

  /** Returns the text so far and closes the file. */
  take(): string {
    const bytes = Buffer.alloc(fstatSync(this.descriptor).size);
    readSync(this.descriptor, bytes, 0, bytes.length, 0);
    closeSync(this.descriptor);
    return bytes.toString();
  }
}
