export { deriveUuid, formatTeamId } from './derived-id.ts';
export { getSourceType, sandboxEventTypes, toSandboxEvent } from './sandbox-event.ts';
export type { SandboxEvent, SandboxEventType } from './sandbox-event.ts';
export { buildWebhookSecret, encodeWebhook, formatWebhookName, readWebhook, selectWebhooks } from './webhook.ts';
export type { Webhook } from './webhook.ts';
export { delivery, deliveryPage, deliveryQuery, deliveryStates, deliveryStats, statsQuery } from './deliveries.ts';
export type { Attempt, Delivery, DeliveryPage, DeliveryQuery, DeliveryStats, StatsQuery } from './deliveries.ts';
export { findTargetProblem, getHost, getPort, TargetAddresses } from './target.ts';
export type { TargetRules } from './target.ts';
