// The exports of `perdure`: `query()` runs a prompt, the typed client works with durable sessions.
import '../system/process/supported.ts';
export { createClient } from './client.ts';
export type { PerdureClient, TranscriptEntry, TranscriptOptions } from './perdure-client.ts';
export type { Abortable } from './async.ts';
export type { CreateClient, LiveEvents, OnceOptions, SendOptions, Sent, StartOptions } from './sessions/start.ts';
export type { Followed, SeenIteration } from './follow/news.ts';
export type { FollowOptions } from './follow/follow.ts';
export type {
  ActOptions,
  ApprovalEvent,
  ApproveOptions,
  DenyOptions,
  WaitingApproval,
} from './sessions/waiting-approval.ts';
export { openServer } from './runtime/open-server.ts';
export type { Opened, OpenServer } from './runtime/open-server.ts';
export type { ApprovalAnswer, OnApproval, OnQuestion, QuestionAnswer } from './runtime/answer-approvals.ts';
export { ClientProblem } from './problem.ts';
export type { ProblemKind } from './problem.ts';
export { eventSchema } from './event-schema.ts';
export { query, RunFailed } from './runtime/query.ts';
export type { Query, QueryEvent, RunningQuery, SessionEvent } from './runtime/query.ts';
export type { ChannelItem, LiveEvent, StoredMark, Tombstone, WatchedEvent } from '../store/live/events.ts';
export { StoreError } from '../store/values/store.ts';
export type { CreateOutcome, StepWrite, Store, StoreProblem } from '../store/values/store.ts';
export type {
  BoundaryEntry,
  CallLog,
  Entry,
  EpochEntry,
  EpochReason,
  Outcome,
  ReplyEntry,
  CallJudgement,
  SignedSummary,
} from '../store/log/entries.ts';
export type { SentNames } from '../store/configuration.ts';
export type { MediaBlock } from '../store/transcript/media.ts';
export type { ChangeKind } from '../store/snapshots/listing.ts';
export type { AgentSpending, OutsideKind, OutsideResult } from '../workflows/contract/delegation.ts';
export type { FilesEntry, RootSnapshot } from '../store/snapshots/files-entry.ts';
export type { WrittenCall } from '../store/snapshots/snapshot-points.ts';
export type { ForkedFrom, ForkFiles, ForkNotice } from '../workflows/contract/fork.ts';
export type {
  FolderRewind,
  FolderRewindRecord,
  KnownFolder,
  RemainingFiles,
  RewindRecord,
  RewindRequest,
} from '../workflows/contract/rewind.ts';
export type { RunServer, ServerToolConfig } from '../workflows/contract/mcp-servers.ts';
export type { RunMount } from '../workflows/contract/mounts.ts';
export type { RosterAgent } from '../workflows/contract/roster.ts';
export type {
  AgentWait,
  AskedCall,
  BudgetEntry,
  OutsideTool,
  SettledEntry,
  WaitEntry,
  WaitingCall,
  WaitReason,
} from '../workflows/contract/waits.ts';
export type { SessionLabels, SteeringRecord } from '../workflows/contract/steered.ts';
export type {
  CompactionTrigger,
  Notice,
  PreambleChanged,
  RunEnded,
  RunStarted,
  SystemPart,
  UserEntry,
} from '../workflows/contract/activities.ts';
export type { AgentFacts, QuerySource, SessionFacts, Tags } from '../workflows/contract/facts.ts';
export type { ExtraFolders } from '../workflows/contract/extra-folders.ts';
export type { ToolEnv } from '../workflows/contract/tool-env.ts';
export type { Profile } from '../workflows/contract/profiles.ts';
export type { Env } from '../connection/data-folder.ts';
export type { Goal, Grade, GradedNotice, GradingNotice } from '../workflows/contract/goals.ts';
export type { CallKey, Hash, MessageId, SessionId } from '../workflows/contract/ids.ts';
export type {
  Effort,
  RunLimit,
  Spend,
  StopCause,
  Terminal,
  TerminalReason,
  TransitionReason,
  Usage,
} from '../workflows/contract/loop.ts';
export type {
  AnswerRecord,
  CompactionRequest,
  Configuration,
  ImageType,
  MediaType,
  MessageBody,
  MessageMedium,
  NewLimits,
  OpenQuestion,
  OptionChanges,
  PendingApproval,
  PermissionMode,
  PermissionRules,
  Phase,
  RequestingAgent,
  RunOptions,
  RunSummary,
  RuleChanges,
  SessionHost,
  StoredMedium,
  SystemMessage,
  TopUp,
} from '../workflows/contract/session.ts';
export type { ForWorkers } from '../workflows/contract/task-queue.ts';
export { ConfigProblem } from '../worker/config/config.ts';
export type { PerdureConfig } from '../worker/config/config.ts';
export type { GoalOnce } from './sessions/message.ts';
export type { Prompt, PromptBlock, TextDocument } from './sessions/prompt.ts';
export { SetupProblem } from '../system/setup-problem.ts';
export type { Damage } from './sessions/repair.ts';
export type { FilesCapture, RemainingEffect } from './sessions/files/calls-behind.ts';
export type { ChangedFile, DiffOptions, SessionDiff, UncapturedFile } from './sessions/files/diff-session.ts';
export type { RewindPreview, RewoundFile } from './sessions/files/look-at-files.ts';
export type { RewindChoice, RewindPlan } from './sessions/files/plan-rewind.ts';
export type { MoveOptions } from './sessions/move-session.ts';
export type { HostChanged, LeaveReason, Moved } from '../workflows/contract/hosts.ts';
export type { RewindOptions, RewindResult, UndoOptions, UndoResult } from './sessions/files/rewind-session.ts';
export type { ForkOptions, ForkResult } from './sessions/fork/fork-session.ts';
export type { RunningState, SessionActivity } from './sessions/running/running-row.ts';
export type { SideAnswer } from './sessions/updates/update.ts';
export type { Snipped } from './sessions/snip.ts';
export type { RunOutcome } from './sessions/outcome.ts';
export type { ClockChange } from './schedules/clock-changes.ts';
export type { ScheduleChanges, ScheduleSettings } from './schedules/change-schedule.ts';
export type { OverlapPolicy, ScheduleFacts, ScheduleOptions } from './schedules/plan.ts';
export type { Firing, Triggered } from './schedules/firings.ts';
export type { ScheduleInfo, Schedules } from './schedules/schedules.ts';
export type { SessionCounts } from './sessions/find/count-sessions.ts';
export type { ListOptions, PageOptions, SessionPage } from './sessions/find/list-sessions.ts';
export { FilterProblem } from './sessions/find/parse-filter.ts';
export { newMessageId, newSessionId } from './sessions/ids.ts';
export type { SeenPhase, SessionDescription, SessionInfo, SessionStatus } from './sessions/info.ts';
