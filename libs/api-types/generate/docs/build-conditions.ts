import { buildConditions, buildMessages, buildReasons } from '../../src/index.ts';
import { numberPlaceholders } from './condition-table.ts';
import type { ConditionRow } from './condition-table.ts';

type Row = Omit<ConditionRow, 'condition' | 'status'>;

/** Reasons of Ready False while the build has not ended. */
const waiting: readonly Row[] = [
  { reason: buildReasons.paused, messages: [buildMessages.paused], when: '`spec.paused` is true.' },
  {
    reason: buildReasons.waitsForTurn,
    messages: [numberPlaceholders((most) => buildMessages.waitsForTurn(most))],
    when: 'The namespace has as many builds that run as it may have.',
  },
  { reason: buildReasons.building, messages: [buildMessages.building], when: 'Its steps run, or are about to.' },
];

/** Reasons of Ready False with the phase Failed. */
const failed: readonly Row[] = [
  {
    reason: buildReasons.superseded,
    messages: [buildMessages.superseded],
    when: 'A newer build makes one of the same templates.',
  },
  {
    reason: buildReasons.timedOut,
    messages: [
      numberPlaceholders((minutes) => buildMessages.pausedTooLong(minutes)),
      numberPlaceholders((seconds) => buildMessages.timedOut(seconds)),
    ],
    when: 'It was paused, or ran, for too long.',
  },
  {
    reason: buildReasons.stepFailed,
    messages: ["failed to run command '<command>': exit status <n>", '<of the step>'],
    when: 'A step failed. `status.failedStep` says which.',
  },
  {
    reason: buildReasons.imageRefused,
    messages: ['<of the registry>', buildMessages.noCredentials('<name>')],
    when: 'The image to start from cannot be had.',
  },
  {
    reason: buildReasons.templateNotFound,
    messages: [buildMessages.templateNotFound('<name>')],
    when: '`fromTemplateName` names no template that a build made.',
  },
  {
    reason: buildReasons.notStarted,
    messages: [buildMessages.notStarted('<detail>')],
    when: 'The sandbox in which the steps run did not start.',
  },
  {
    reason: buildReasons.registryFailed,
    messages: [buildMessages.pushFailed('<detail>')],
    when: 'The registry of the installation refused an image.',
  },
  {
    reason: buildReasons.templateExists,
    messages: [buildMessages.templateExists('<name>')],
    when: 'One of `spec.templates` is a SandboxTemplate that no build made.',
  },
  {
    reason: buildReasons.templateRefused,
    messages: [buildMessages.templateRefused('<name>', '<of the API server>')],
    when: 'The API server refuses the SandboxTemplate.',
  },
];

/** The condition of a SandboxTemplateBuild. */
export const buildRows: readonly ConditionRow[] = [
  {
    condition: buildConditions.ready,
    status: 'True',
    reason: buildReasons.built,
    messages: [numberPlaceholders((seconds) => buildMessages.built(seconds))],
    when: 'The templates have the new image.',
  },
  ...[...waiting, ...failed].map((row) => ({ condition: buildConditions.ready, status: 'False' as const, ...row })),
];
