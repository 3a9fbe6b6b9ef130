export { ControllerWorld, startSurroundings } from './controller-world.ts';
export { startServiceProcess } from './service-process.ts';
export type { ServiceProcess } from './service-process.ts';
export type { TestController } from './test-controller.ts';
