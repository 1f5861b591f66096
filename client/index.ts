// The exports of `perdure`: `query()` runs a prompt, the typed client works with durable sessions.
export { createClient } from './client.ts';
export type { PerdureClient } from './client.ts';
export type { ClientOptions, SendOptions, Sent, StartOptions } from './sessions/start.ts';
export type { Followed, FollowOptions } from './follow/follow.ts';
export type { ApprovalEvent, WaitingApproval } from './sessions/decide.ts';
export type { ApproveOptions, DenyOptions } from './sessions/decide.ts';
export { openServer } from './connect/open-server.ts';
export type { Opened, OpenServer } from './connect/open-server.ts';
export type { ApprovalAnswer, OnApproval } from './answer-approvals.ts';
export { ClientProblem } from './problem.ts';
export type { ProblemKind } from './problem.ts';
export { query } from './query.ts';
export type { Query } from './query.ts';
export type { RunOutcome } from './sessions/outcome.ts';
export type { SessionDescription, SessionInfo, SessionStatus } from './sessions/info.ts';
