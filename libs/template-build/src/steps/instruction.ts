/** A step as clients of the E2B API send it (docs/reference/e2b-api.md). */
export interface Step {
  readonly type: string;
  readonly args: readonly string[];
  /** Digest of the files of a COPY, 64 hex digits. The two clients may compute different ones for the same files. */
  readonly filesHash?: string | undefined;
  /** Run this step and all later ones, also if their results are cached. */
  readonly force?: boolean | undefined;
}

/** What a step asks for, checked. */
export type Instruction =
  | { readonly kind: 'run'; readonly command: string; readonly user?: string | undefined }
  | {
      readonly kind: 'copy';
      /** Path in the archive without a leading slash; empty for all of it. */
      readonly source: string;
      readonly destination: string;
      /** `user:group`. */
      readonly owner?: string | undefined;
      /** Octal digits such as `0755`. */
      readonly mode?: string | undefined;
      readonly filesHash: string;
    }
  | { readonly kind: 'env'; readonly variables: readonly (readonly [name: string, value: string])[] }
  | { readonly kind: 'workdir'; readonly path: string }
  | { readonly kind: 'user'; readonly name: string; readonly canSudo: boolean };

export type InstructionOf<K extends Instruction['kind']> = Extract<Instruction, { readonly kind: K }>;

/** Why a step cannot be carried out, for the author of the template. */
export interface StepProblem {
  readonly problem: string;
}

export function isProblem(result: Instruction | StepProblem): result is StepProblem {
  return 'problem' in result;
}
