// A server with a worker in this process, and how the calls of its sessions are decided.
export { answerApprovals } from '../runtime/answer-approvals.ts';
export { openWorkplace } from '../runtime/workplace.ts';
