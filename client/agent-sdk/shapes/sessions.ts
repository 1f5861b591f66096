// Sessions as such programs list, read and keep them.

export type SDKSessionInfo = {
  sessionId: string;
  /** Its title, or the beginning of its first prompt. */
  summary: string;
  /** Milliseconds since the epoch. */
  lastModified: number;
  createdAt?: number;
  customTitle?: string;
  firstPrompt?: string;
  cwd?: string;
  tag?: string;
  gitBranch?: string;
  fileSize?: number;
  archived?: boolean;
};

export type SessionMessage = {
  type: 'user' | 'assistant' | 'system';
  uuid: string;
  session_id: string;
  message: unknown;
  parent_tool_use_id: string | null;
  parent_agent_id: string | null;
};

export type SessionKey = { projectKey: string; sessionId: string; subpath?: string };
export type SessionStoreEntry = { type: string; uuid?: string; timestamp?: string; [key: string]: unknown };
export type SessionSummaryEntry = { sessionId: string; mtime: number; data: Record<string, unknown> };
export type SessionStoreFlush = 'batched' | 'eager';

export type SessionStore = {
  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>;
  load(key: SessionKey): Promise<SessionStoreEntry[] | null>;
  listSessions?(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>;
  listSessionSummaries?(projectKey: string): Promise<SessionSummaryEntry[]>;
  listSubkeys?(key: { projectKey: string; sessionId: string }): Promise<string[]>;
  delete?(key: SessionKey): Promise<void>;
};

/** `dir`: sessions of this folder; absent: of all. */
type InPlace = { dir?: string; sessionStore?: SessionStore };
type Page = { limit?: number; offset?: number };

export type SessionMutationOptions = InPlace;
export type GetSessionInfoOptions = InPlace;
export type ListSubagentsOptions = InPlace;
export type GetSubagentMessagesOptions = InPlace & Page;
export type GetSessionMessagesOptions = InPlace & Page & { includeSystemMessages?: boolean };
export type ListSessionsOptions = InPlace & Page & { includeWorktrees?: boolean; includeProgrammatic?: boolean };
export type ForkSessionOptions = InPlace & { upToMessageId?: string; title?: string };
export type ForkSessionResult = { sessionId: string };
export type ImportSessionToStoreOptions = { dir?: string; includeSubagents?: boolean; batchSize?: number };
