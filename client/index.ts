// The exports of `perdure`: `query()` runs a prompt, the typed client works with durable sessions.
import '../system/process/supported.ts';
export { createClient } from './client.ts';
export type { PerdureClient, TranscriptEntry, TranscriptOptions } from './perdure-client.ts';
export type { Abortable } from './async.ts';
export type { CreateClient, LiveEvents, SendOptions, Sent, StartOptions } from './sessions/start.ts';
export type { Followed, SeenIteration } from './follow/cursor.ts';
export type { FollowOptions } from './follow/follow.ts';
export type { ApprovalEvent, WaitingApproval } from './sessions/waiting-approval.ts';
export type { ApproveOptions, DenyOptions } from './sessions/decide.ts';
export { openServer } from './runtime/open-server.ts';
export type { Opened, OpenServer } from './runtime/open-server.ts';
export type { ApprovalAnswer, OnApproval, OnQuestion, QuestionAnswer } from './runtime/answer-approvals.ts';
export { ClientProblem } from './problem.ts';
export type { ProblemKind } from './problem.ts';
export { eventSchema } from './event-schema.ts';
export { query, RunFailed } from './runtime/query.ts';
export type { Query, QueryEvent, RunningQuery, SessionEvent } from './runtime/query.ts';
export type { ChannelItem, Told, Watched, WatchedEvent } from '../store/live/events.ts';
export { StoreError } from '../store/values/store.ts';
export type { Store } from '../store/values/store.ts';
export type { Entry } from '../store/log/entries.ts';
export type { Hash, MessageId, SessionId } from '../workflows/contract/ids.ts';
export type { Terminal, TerminalReason, TransitionReason, Usage } from '../workflows/contract/loop.ts';
export type {
  Configuration,
  OptionChanges,
  PendingApproval,
  PermissionMode,
  PermissionRules,
  Phase,
  RunOptions,
  RunSummary,
  RuleChanges,
  TopUp,
} from '../workflows/contract/session.ts';
export type { ForWorkers } from '../workflows/contract/task-queue.ts';
export { ConfigProblem } from '../worker/config/config.ts';
export type { PerdureConfig } from '../worker/config/config.ts';
export type { Prompt, PromptBlock } from './sessions/prompt.ts';
export { SetupProblem } from '../system/setup-problem.ts';
export type { Damage } from './sessions/repair.ts';
export type { Snipped } from './sessions/snip.ts';
export type { RunOutcome } from './sessions/outcome.ts';
export type { OverlapPolicy, ScheduleFacts, ScheduleOptions } from './schedules/plan.ts';
export type { Firing, Triggered } from './schedules/firings.ts';
export type { ScheduleInfo, Schedules } from './schedules/schedules.ts';
export type { SessionCounts } from './sessions/find/count-sessions.ts';
export type { ListOptions, PageOptions, SessionPage } from './sessions/find/list-sessions.ts';
export { FilterProblem } from './sessions/find/parse-filter.ts';
export { newSessionId } from './sessions/session-id.ts';
export { newMessageId } from './sessions/message-id.ts';
export type { SeenPhase, SessionDescription, SessionInfo, SessionStatus } from './sessions/info.ts';
