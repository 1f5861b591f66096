// Workers that a command starts or uses, loaded when they start; whether a key is there; runs that
// are silent.
export { actWithWorker, keepWorker, sayWhoseWork } from '../runtime/session-workers.ts';
export { prepareWorker, startOwnWorker } from '../runtime/own-worker.ts';
export { isKeyless, SCRIPTED_NOTICE, withoutKey } from '../../worker/keyless.ts';
