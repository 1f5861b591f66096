// What a person types at a terminal while something goes on: messages, and answers to questions.
// Two kinds: rows at the bottom with keys of their own where the terminal has colours, whole lines
// as the terminal gives them where it has none.
import type { Key } from './line-editor.ts';

/**
 * The line that follows the question; null when the signal came first, or nothing more can be
 * typed.
 */
export type ReadLine = (question: string, signal: AbortSignal) => Promise<string | null>;

/** What is done with what is typed. */
export type Hands = {
  /** A text that answers no question. `now`: it is not to wait for its turn. */
  submit(text: string, now: boolean): void;
  /** Ctrl-C. */
  interrupt(): void;
  /** Ctrl-D, or the end of the input. */
  leave(): void;
  /** What was typed before, oldest first. */
  readonly history?: readonly string[];
  readonly prompt?: string;
};

export type Input = {
  readonly ask: ReadLine;
  /**
   * Gives a text to the person's own editor; null when there is none, or it failed: said already.
   */
  edit(text: string): Promise<string | null>;
  /**
   * What may be written next, shown where nothing is typed: Tab writes it, and nothing sends it.
   * Null: nothing any more. Absent: it cannot be shown.
   */
  suggest?(text: string | null): void;
  /** Ends it, and returns what was typed and not sent. */
  close(): string;
};

/** Keys as they are pressed, until it is ended. */
export type Keyboard = {
  start(onKey: (typed: string | undefined, key: Key) => void): void;
  stop(): void;
};
