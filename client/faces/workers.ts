// Which workers a session needs, and whether they stay.
export { chooseConfig, staffFor, stayingWorkers, workersFor } from '../runtime/session-workers.ts';
