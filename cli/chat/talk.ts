// Declares the parts of a chat that its slash commands work with.
import type { Paint, RunConfig, PerdureClient, SessionId, PermissionMode } from '../../client/faces/types.ts';

type Sessions = Pick<
  PerdureClient,
  | 'describe'
  | 'diff'
  | 'fork'
  | 'interrupt'
  | 'resume'
  | 'cancel'
  | 'setOptions'
  | 'topUp'
  | 'list'
  | 'askAside'
  | 'send'
  | 'transcript'
>;

export type Talk = {
  readonly sessions: Sessions;
  readonly session: SessionId;
  readonly self: string;
  readonly say: (line: string) => void;
  readonly out: Paint;
  readonly cwd: string;
  readonly leave: () => void;
  /** Ends this conversation and begins another one in the same terminal. */
  readonly startAnew: () => void;
  /** Lets the person choose where to go back to, or undoes that. Throws ClientProblem. */
  readonly rewind: (undoes: boolean) => Promise<void>;
  /** Sets the mode for the next message. */
  readonly setMode: (mode: PermissionMode) => void;
  /** Opens the page at this session. */
  readonly openPage: () => Promise<void>;
  /** How full the context is, in words; null while that is not known. */
  readonly contextWords: () => string | null;
  /** The configuration of the last run that opened; null before. */
  readonly readConfig: () => Promise<RunConfig | null>;
};
