import { createHmac } from 'node:crypto';
import type { SandboxTemplateBuildSpec } from '@sandlot/api-types';
import type { TokenKeys } from '@sandlot/tenancy';
import { badRequest } from '../../../errors/api-error.ts';
import type { BuildStart, Registry } from './schemas.ts';

type Steps = NonNullable<SandboxTemplateBuildSpec['steps']>;

/** What a build is to do, with all its fields checked. */
export interface Start {
  readonly base: { readonly image: string } | { readonly template: string };
  readonly registry: Registry | undefined;
  readonly force: boolean;
  readonly steps: Steps;
  readonly startCommand: string | undefined;
  readonly readyCommand: string | undefined;
}

/** Checks the body of a start. Throws an ApiError 400. Whether the steps can be carried out, the build says. */
export function readStart(body: BuildStart): Start {
  const base = readBase(body.fromImage ?? '', body.fromTemplate ?? '');
  const registry = body.fromImageRegistry ?? undefined;
  if (registry !== undefined && 'template' in base)
    throw badRequest('fromImageRegistry: it is for fromImage, and fromTemplate needs none');
  return {
    base,
    registry,
    force: body.force ?? false,
    steps: (body.steps ?? []).map(readStep),
    startCommand: readCommand(body.startCmd),
    readyCommand: readCommand(body.readyCmd),
  };
}

function readStep({ type, args, filesHash, force }: NonNullable<BuildStart['steps']>[number]): Steps[number] {
  return { type, args: args ?? [], ...(filesHash == null ? {} : { filesHash }), force: force ?? false };
}

/** An empty one is none. */
function readCommand(text: string | null | undefined): string | undefined {
  return text == null || text === '' ? undefined : text;
}

function readBase(image: string, template: string): Start['base'] {
  if (image !== '' && template !== '') throw badRequest('cannot specify both fromImage and fromTemplate');
  if (image !== '') return { image };
  if (template !== '') return { template };
  throw badRequest('must specify either fromImage or fromTemplate');
}

/**
 * Tells a repeated start from another one. The key keeps it from giving away the credentials: they may be short enough to guess, and the
 * build shows it.
 */
export function digestStart({ ofRepeats }: Pick<TokenKeys, 'ofRepeats'>, start: Start): string {
  const { base, registry, force, steps, startCommand, readyCommand } = start;
  const parts = [base, registry, force, steps, startCommand, readyCommand];
  return createHmac('sha256', ofRepeats).update('template build').update(JSON.stringify(parts)).digest('hex');
}
