/** The API server refuses the copy of a disk for good. */
export class DiskRefused extends Error {
  override readonly name = 'DiskRefused';
  readonly code = 'DiskRefused';
  readonly claimName: string;

  constructor(claimName: string, cause: Error) {
    super(cause.message, { cause });
    this.claimName = claimName;
  }
}
