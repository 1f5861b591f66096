// Workers of this process: which one a session needs, where it works, and how its calls are decided.
export { answerApprovals } from '../runtime/answer-approvals.ts';
export { chooseConfig, staffFor, stayingWorkers, workersFor } from '../runtime/session-workers.ts';
export { openWorkplace } from '../runtime/workplace.ts';
