export { keepDeadlines } from './deadlines.ts';
export type { KeptDeadlines } from './deadlines.ts';
export { main } from './main.ts';
export { openOutboxes } from './outboxes.ts';
export type { OutboxInput } from './outboxes.ts';
export { runController } from './run.ts';
export type { ControllerParts, ControllerProcess } from './run.ts';
export { controllerSettings } from './settings.ts';
export type { ControllerSettings } from './settings.ts';
