export { computeFairDelayMs } from './fair-delay.ts';
export { Gate } from './gate.ts';
export { isMechanism, pacing, switchOffPacing } from './pacing.ts';
export { mechanisms } from './table.ts';
export type { MechanismName } from './table.ts';
