// Declares the agent SDK's types for listing, reading and storing sessions, with its field names.

export type SDKSessionInfo = {
  sessionId: string;
  /** The title, or the beginning of the first prompt. */
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

/** `dir` limits the sessions to one folder. */
type FolderScope = { dir?: string; sessionStore?: SessionStore };
type Page = { limit?: number; offset?: number };

export type SessionMutationOptions = FolderScope;
export type GetSessionInfoOptions = FolderScope;
export type ListSubagentsOptions = FolderScope;
export type GetSubagentMessagesOptions = FolderScope & Page;
export type GetSessionMessagesOptions = FolderScope & Page & { includeSystemMessages?: boolean };
export type ListSessionsOptions = FolderScope & Page & { includeWorktrees?: boolean; includeProgrammatic?: boolean };
export type ForkSessionOptions = FolderScope & { upToMessageId?: string; title?: string };
export type ForkSessionResult = { sessionId: string };
export type ImportSessionToStoreOptions = { dir?: string; includeSubagents?: boolean; batchSize?: number };
