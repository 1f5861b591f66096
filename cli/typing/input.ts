// Input from a person at a terminal while something runs: messages, and answers to questions. A
// terminal with colours gets rows at the bottom with keys of their own; another one gives whole
// lines.
import type { Complete } from './completion.ts';
import type { KeyPress } from './line-editor.ts';
import type { Menu, Picker } from './picker.ts';

/**
 * Returns the line that follows the question; null when the signal came first or typing has ended.
 * `escape` is the answer that Escape gives; without it Escape interrupts.
 */
type ReadLine = (question: string, signal: AbortSignal, escape?: string) => Promise<string | null>;

/** Callbacks for what a person types. */
export type Hands = {
  /** Takes a text that does not answer a question. With `now` it does not wait for its turn. */
  submit(text: string, now: boolean): void;
  /** Called at Ctrl-C. */
  interrupt(): void;
  /** Called at Ctrl-D, or at the end of the input. */
  leave(): void;
  /**
   * Called at Escape when nothing is open that it would close; `isEmpty` when nothing is typed.
   */
  escape?(isEmpty: boolean): void;
  /** Called at Ctrl-O: shows the output of calls. */
  showOutput?(): void;
  /** Called at Shift-Tab: switches to the next permission mode. */
  nextMode?(): void;
  readonly complete?: Complete;
  /** Texts typed before, oldest first. */
  readonly history?: readonly string[];
  readonly prompt?: string;
};

export type Input = {
  readonly ask: ReadLine;
  /**
   * Puts a question that one key answers, and returns the answer; null when the signal came first
   * or typing has ended. Absent: only whole lines can be read.
   */
  readonly pick?: (menu: Menu, signal: AbortSignal) => Promise<string | null>;
  /**
   * Lets the person pick from a list, and returns the answer; null when they left it. Absent: only
   * whole lines can be read.
   */
  readonly choose?: (picker: Picker, signal: AbortSignal) => Promise<string | null>;
  /** Replaces what is typed. Absent: it cannot be done. */
  write?(text: string): void;
  /**
   * Opens a text in the person's own editor. Returns null when there is no editor or it failed,
   * which has been reported.
   */
  edit(text: string): Promise<string | null>;
  /**
   * Shows a possible next message while nothing is typed: Tab takes it over, and it is never sent
   * by itself. Null removes it. Absent: it cannot be shown.
   */
  suggest?(text: string | null): void;
  /** Ends the input and returns what was typed and not sent. */
  close(): string;
};

/** Delivers keys as they are pressed, until it is stopped. */
export type Keyboard = {
  start(onKey: (typed: string | undefined, key: KeyPress) => void): void;
  stop(): void;
};
