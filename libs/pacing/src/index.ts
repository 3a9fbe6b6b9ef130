export { isBurst, withBurstEvent } from './burst.ts';
export { fairDelayMs } from './fair-delay.ts';
export { Gate } from './gate.ts';
export { pacing, switchOffPacing } from './pacing.ts';
