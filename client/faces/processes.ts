// Workers that a command starts or uses, loaded when they start; the check for a key; silent runs.
export { actWithWorker, keepWorker, sayWhoseWork } from '../runtime/keep-worker.ts';
export { prepareWorker, startOwnWorker } from '../runtime/own-worker.ts';
export { isKeyless, SCRIPTED_NOTICE, withoutKey } from '../../worker/keyless.ts';
